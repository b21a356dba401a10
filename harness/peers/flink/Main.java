import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import millrace.Counted;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.Partitioner;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;
import org.apache.flink.util.Collector;

/**
 * Chains of one length between a source and a sink, in Flink: the steps of all chains are one operator each, as many times parallel as there
 * are chains, which is how Flink writes data parallelism.
 */
public final class Main implements Run.Engine {
    private static final int DEPLOYED_S = 40;
    private static final int BUFFERS = 10; // of a stream between tasks, by Flink's defaults: 2 of its own and 8 that float
    private static final int BUFFER_BYTES = 32 << 10;
    private static final int TUPLE_BYTES = 41; // that a tuple takes besides its payload, about

    private static volatile boolean started; // sources are silent before
    private static CountDownLatch deployed;

    private final Plan plan;
    private final int threads;

    private Main(Plan plan) {
        this.plan = plan;
        Counted.watch(plan);
        List<List<Integer>> chains = chains(plan);
        int width = chains.size();
        int depth = chains.get(0).size();
        boolean chaining = Boolean.getBoolean("chaining");
        threads = chaining ? (width == 1 ? 1 : width + 2) : width * depth + 2;
        deployed = new CountDownLatch(width * depth + 2);
        Thread job = new Thread(() -> execute(chains, chaining));
        job.setDaemon(true);
        job.start();
        try {
            if (!deployed.await(DEPLOYED_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException(deployed.getCount() + " operators were not deployed within " + DEPLOYED_S + " s");
            }
        } catch (InterruptedException problem) {
            throw new IllegalStateException(problem);
        }
    }

    public static void main(String[] words) {
        Run.main(words[0], Main::new);
    }

    @Override
    public int threads() {
        return threads;
    }

    @Override
    public int capacity() {
        return threads == 1 ? 0 : BUFFERS * BUFFER_BYTES / (plan.payload + TUPLE_BYTES);
    }

    @Override
    public void start() {
        started = true;
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return Counted.await(plan, ms);
    }

    private void execute(List<List<Integer>> chains, boolean chaining) {
        try {
            int width = chains.size();
            Configuration settings = new Configuration();
            settings.set(TaskManagerOptions.NUM_TASK_SLOTS, width);
            settings.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(128));
            settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(128));
            StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(width, settings);
            environment.getConfig().enableObjectReuse();
            if (!chaining) {
                environment.disableOperatorChaining();
            }
            TypeInformation<Tuple> tuples = TypeInformation.of(Tuple.class);
            DataStream<Tuple> stream = environment.addSource(new Source(plan.operators.indexOf(find("source"))), tuples).setParallelism(1);
            if (width > 1) {
                stream = stream.partitionCustom(new InTurn(), tuple -> tuple.sequence);
            }
            for (int step = 0; step < chains.get(0).size(); step++) {
                int at = step;
                int[] numbers = chains.stream().mapToInt(chain -> chain.get(at)).toArray();
                SingleOutputStreamOperator<Tuple> next = stream.process(new Step(numbers), tuples);
                stream = next.setParallelism(width);
            }
            stream.addSink(new Sink(plan.operators.indexOf(find("sink")))).setParallelism(1);
            environment.execute();
        } catch (Throwable problem) {
            Run.fail(problem);
        }
    }

    private Plan.Operator find(String kind) {
        List<Plan.Operator> found = plan.operators.stream().filter(operator -> operator.kind().equals(kind)).toList();
        if (found.size() != 1) {
            throw new IllegalArgumentException("this program runs graphs of one source and one sink");
        }
        return found.get(0);
    }

    private List<List<Integer>> chains(Plan plan) {
        int sink = plan.operators.indexOf(find("sink"));
        List<List<Integer>> chains = new ArrayList<>();
        for (List<Plan.Stream> port : find("source").ports()) {
            List<Integer> chain = new ArrayList<>();
            List<Plan.Stream> streams = port;
            while (true) {
                if (streams.size() != 1) {
                    throw new IllegalArgumentException("this program sends a tuple one way");
                }
                int next = streams.get(0).target();
                if (next == sink) {
                    break;
                }
                chain.add(next);
                if (plan.operators.get(next).ports().size() != 1) {
                    throw new IllegalArgumentException("this program has splits behind the source only");
                }
                streams = plan.operators.get(next).ports().get(0);
            }
            if (!chains.isEmpty() && chain.size() != chains.get(0).size()) {
                throw new IllegalArgumentException("this program runs chains of one length");
            }
            chains.add(chain);
        }
        return chains;
    }

    /** Tuples go to the chains in turn. */
    public static final class InTurn implements Partitioner<Long> {
        @Override
        public int partition(Long sequence, int ways) {
            return (int) (sequence % ways);
        }
    }

    public static final class Source extends RichSourceFunction<Tuple> {
        private final int number;
        private volatile boolean canceled;

        Source(int number) {
            this.number = number;
        }

        @Override
        public void open(OpenContext context) {
            deployed.countDown();
        }

        @Override
        public void run(SourceContext<Tuple> out) throws Exception {
            while (!started && !canceled) {
                Thread.sleep(1);
            }
            Tally tally = Run.tally(number);
            int width = Run.plan.operators.get(number).ports().size();
            for (Tuple tuple = tally.send(Run.plan.limit); tuple != null; tuple = tally.send(Run.plan.limit)) {
                tuple.path = (int) (tuple.sequence % width); // which chain it takes: the order of each is checked
                out.collect(tuple);
                tally.count();
            }
            Counted.end(number);
            while (!canceled) { // a job whose source has ended would begin to shut down while tuples are counted
                Thread.sleep(10);
            }
        }

        @Override
        public void cancel() {
            canceled = true;
        }
    }

    /** One step of all chains; each instance is the operator of one of them. */
    public static final class Step extends ProcessFunction<Tuple, Tuple> {
        private final int[] numbers;
        private transient Tally tally;

        Step(int[] numbers) {
            this.numbers = numbers;
        }

        @Override
        public void open(OpenContext context) {
            tally = Run.tally(numbers[getRuntimeContext().getTaskInfo().getIndexOfThisSubtask()]);
            deployed.countDown();
        }

        @Override
        public void processElement(Tuple tuple, Context context, Collector<Tuple> out) {
            if (!tally.leaves(tuple.sequence)) {
                tuple.value = tally.work(tuple.value);
                out.collect(tuple);
                tally.count();
            }
        }
    }

    public static final class Sink extends RichSinkFunction<Tuple> {
        private final int number;
        private transient Tally tally;

        Sink(int number) {
            this.number = number;
        }

        @Override
        public void open(OpenContext context) {
            tally = Run.tally(number);
            deployed.countDown();
        }

        @Override
        public void invoke(Tuple tuple, Context context) {
            tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
        }
    }
}
