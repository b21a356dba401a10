import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import millrace.Chains;
import millrace.Counted;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Chains of one length between a source and a sink, in Flink: the steps of all chains are one operator each, as many times parallel as there
 * are chains, which is how Flink writes data parallelism. `chaining`: `on`, as by default; `off`; or `split`, where the steps are as many
 * chained tasks as there are CPUs, those of parallel chains together.
 */
public final class Main implements Run.Engine {
    private static final int BUFFERS = 2; // of each stream between tasks, by Flink's defaults
    private static final int FLOATING = 8; // more, which all streams behind a task share
    private static final int BUFFER_BYTES = 32 << 10;
    private static final Duration SOON = Duration.ofMillis(5); // until a buffer is sent that is not full, for low latency
    private static final long LEFT = -1; // number of a tuple that an operator has counted as not executed
    private static final int TUPLE_BYTES = 32; // that a tuple takes besides its payload, about

    private static volatile boolean started; // sources are silent before
    private static CountDownLatch deployed;

    private final Plan plan;
    private final int width;
    private final int threads;

    private Main(Plan plan) {
        this.plan = plan;
        Counted.watch(plan);
        Chains chains = new Chains(plan);
        width = chains.width();
        int depth = chains.depth();
        String chaining = System.getProperty("chaining");
        int cpus = Runtime.getRuntime().availableProcessors();
        int tasks = chaining.equals("split") ? Math.max(1, Math.min(depth, (cpus + width - 1) / width)) : 1;
        threads = chaining.equals("off") ? width * depth + 2 : width == 1 ? tasks : width * tasks + 2;
        deployed = new CountDownLatch(width * depth + 2);
        boolean isSoon = chaining.equals("split") && plan.operators.get(chains.source).gapNs() > 0.0;
        Thread job = new Thread(() -> execute(chains, !chaining.equals("off"), tasks, isSoon));
        job.setDaemon(true);
        job.start();
        Run.awaitDeployed(deployed);
    }

    public static void main(String[] words) {
        Run.main(words[0], Main::new);
    }

    @Override
    public int threads() {
        return threads;
    }

    /** A stream behind the source has its share of the source's buffers. */
    @Override
    public int capacity() {
        int bytes = BUFFER_BYTES * BUFFERS + BUFFER_BYTES * FLOATING / width;
        return threads == 1 ? 0 : bytes / (plan.payload + TUPLE_BYTES);
    }

    @Override
    public void start() {
        started = true;
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return Counted.await(plan, ms);
    }

    /** `tasks`: those of a chain's steps, if they are chained; `isSoon`: buffers do not wait long for more tuples. */
    private static void execute(Chains chains, boolean chaining, int tasks, boolean isSoon) {
        try {
            int width = chains.width();
            Configuration settings = new Configuration();
            settings.set(TaskManagerOptions.NUM_TASK_SLOTS, width);
            settings.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.ofMebiBytes(128));
            settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(128));
            if (isSoon) {
                settings.set(ExecutionOptions.BUFFER_TIMEOUT, SOON);
            }
            StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(width, settings);
            environment.getConfig().enableObjectReuse();
            if (!chaining) {
                environment.disableOperatorChaining();
            }
            TypeInformation<Tuple> tuples = new TupleInformation();
            DataGeneratorSource<Tuple> source = new DataGeneratorSource<>(new Make(chains.source), Long.MAX_VALUE, tuples);
            DataStream<Tuple> stream =
                    environment.fromSource(source, WatermarkStrategy.noWatermarks(), "source", tuples).setParallelism(1);
            if (width > 1) {
                stream = stream.rebalance();
            }
            for (int step = 0; step < chains.depth(); step++) {
                int at = step;
                int[] numbers = chains.chains.stream().mapToInt(chain -> chain.operators()[at]).toArray();
                SingleOutputStreamOperator<Tuple> mapped =
                        stream.map(new Step(numbers, step == 0)).returns(tuples).setParallelism(width);
                if (chaining && step > 0 && step * tasks / chains.depth() > (step - 1) * tasks / chains.depth()) {
                    mapped.startNewChain();
                }
                stream = mapped;
            }
            stream.sinkTo(new End(chains.sink)).setParallelism(1);
            environment.execute();
        } catch (Throwable problem) {
            Run.fail(problem);
        }
    }

    /**
     * The source, as Flink's own generator: a function of the number of a tuple. It never returns after the last one, as a job whose source
     * has ended would begin to shut down while tuples are counted.
     */
    public static final class Make implements GeneratorFunction<Long, Tuple> {
        private final int number;
        private transient Tally tally;

        Make(int number) {
            this.number = number;
        }

        @Override
        public void open(SourceReaderContext context) {
            tally = Run.tally(number);
            deployed.countDown();
        }

        @Override
        public Tuple map(Long sequence) throws InterruptedException {
            while (!started) {
                Thread.sleep(1);
            }
            Tuple tuple = tally.send(Run.plan.limit);
            if (tuple == null) {
                Counted.end(number);
                Thread.sleep(Long.MAX_VALUE);
            }
            tally.count();
            return tuple;
        }
    }

    /** One step of all chains; each instance is the operator of one of them. */
    public static final class Step extends RichMapFunction<Tuple, Tuple> {
        private final int[] numbers;
        private final boolean isFirst;
        private transient Tally tally;

        Step(int[] numbers, boolean isFirst) {
            this.numbers = numbers;
            this.isFirst = isFirst;
        }

        @Override
        public void open(OpenContext context) {
            deployed.countDown();
        }

        @Override
        public Tuple map(Tuple tuple) {
            if (tuple.sequence < 0) {
                return tuple;
            }
            if (tally == null) { // `rebalance` begins anywhere, and goes on in turn: the first tuple tells which chain this is
                tally = Run.tally(numbers[(int) (tuple.sequence % numbers.length)]);
            }
            if (isFirst) {
                tuple.path = (int) (tuple.sequence % numbers.length);
            }
            if (tally.leaves(tuple.sequence)) {
                tuple.sequence = LEFT;
            } else {
                tuple.value = tally.work(tuple.value);
                tally.count();
            }
            return tuple;
        }
    }

    public static final class End implements Sink<Tuple> {
        private final int number;

        End(int number) {
            this.number = number;
        }

        @Override
        public SinkWriter<Tuple> createWriter(WriterInitContext context) {
            Tally tally = Run.tally(number);
            deployed.countDown();
            return new SinkWriter<>() {
                @Override
                public void write(Tuple tuple, Context context) {
                    if (tuple.sequence >= 0) {
                        tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
                    }
                }

                @Override
                public void flush(boolean end) {}

                @Override
                public void close() {}
            };
        }
    }
}
