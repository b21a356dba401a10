import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import millrace.Counted;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** A graph in Storm: a spout a source, a bolt each other operator, with a task for each of its replicas, in a local cluster in this process. */
public final class Main implements Run.Engine {
    private static final Fields FIELDS = new Fields("tuple");
    private static final Map<String, Object> PATIENT = Map.of( // a cluster in one process must not give up parts that get no CPU
            "nimbus.supervisor.timeout.secs", 3600,
            "nimbus.task.timeout.secs", 3600,
            "supervisor.worker.timeout.secs", 3600,
            "storm.zookeeper.session.timeout", 3_600_000,
            "storm.zookeeper.connection.timeout", 60_000);

    private static final int FLUSH_MS = 50; // of batches, where sources are at full speed and fill them

    // A batch that found room for a part of it only is not sent on before its executor emits again: when a source has ended, tuples of this
    // number push what is left through. Nobody counts them.
    private static final long PUSH = -1;
    private static final long PUSH_NS = 1_000_000;

    private static volatile boolean started; // spouts are silent before
    private static CountDownLatch deployed;
    private static List<List<Integer>> components;

    private final Plan plan;

    private Main(Plan plan) {
        this.plan = plan;
        deployed = new CountDownLatch(plan.operators.size());
        components = components(plan);
        Counted.watch(plan);
        try {
            LocalCluster cluster = new LocalCluster.Builder().withDaemonConf(PATIENT).build();
            cluster.submitTopology("graph", config(plan), topology().createTopology());
            Run.awaitDeployed(deployed);
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    public static void main(String[] words) {
        Run.main(words[0], Main::new);
    }

    @Override
    public int threads() {
        return IntStream.range(0, components.size()).map(this::executors).sum();
    }

    /** Storm makes a buffer a power of two. */
    @Override
    public int capacity() {
        return Integer.highestOneBit(Math.max(1, 2 * plan.capacity - 1));
    }

    @Override
    public int batch() {
        return batch(plan);
    }

    @Override
    public void start() {
        started = true;
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return Counted.await(plan, ms);
    }

    private static Config config(Plan plan) {
        Config config = new Config();
        config.setNumWorkers(1);
        config.setNumAckers(0);
        config.put(Config.TOPOLOGY_EXECUTOR_RECEIVE_BUFFER_SIZE, plan.capacity);
        config.put(Config.TOPOLOGY_PRODUCER_BATCH_SIZE, batch(plan));
        config.put(Config.TOPOLOGY_DISABLE_LOADAWARE_MESSAGING, true);
        config.put(Config.TOPOLOGY_STATS_SAMPLE_RATE, 0.001);
        if (plan.batch > 1) {
            tune(config, plan);
        }
        return config;
    }

    /** Storm refuses a batch that is longer than half of the buffer. */
    private static int batch(Plan plan) {
        return Math.max(1, Math.min(plan.batch, plan.capacity / 2));
    }

    /** For throughput where there are more executors than CPUs: those without tuples, or without room for them, sleep at once. */
    private static void tune(Config config, Plan plan) {
        if (plan.operators.stream().allMatch(operator -> operator.gapNs() == 0.0)) {
            config.put(Config.TOPOLOGY_BATCH_FLUSH_INTERVAL_MILLIS, FLUSH_MS);
        }
        config.put(Config.TOPOLOGY_BOLT_WAIT_PROGRESSIVE_LEVEL2_COUNT, 1);
        config.put(Config.TOPOLOGY_BACKPRESSURE_WAIT_PROGRESSIVE_LEVEL2_COUNT, 1);
    }

    private TopologyBuilder topology() {
        TopologyBuilder builder = new TopologyBuilder();
        BoltDeclarer[] bolts = new BoltDeclarer[components.size()];
        for (int i = 0; i < bolts.length; i++) {
            List<Integer> replicas = components.get(i);
            if (plan.operators.get(replicas.get(0)).kind().equals("source")) {
                builder.setSpout(name(i), new Source(replicas.get(0)), 1);
            } else {
                bolts[i] = builder.setBolt(name(i), new Step(replicas), executors(i));
                bolts[i].setNumTasks(replicas.size());
            }
        }
        for (int i = 0; i < bolts.length; i++) {
            for (int target : targets(components.get(i)).map(Main::componentOf).distinct().toArray()) {
                bolts[target].directGrouping(name(i));
            }
        }
        return builder;
    }

    /**
     * Operators by component of Storm, in the order of its tasks. Replicas are one component: those that an operator feeds in turn, and those behind
     * replicas, one behind each.
     */
    private static List<List<Integer>> components(Plan plan) {
        List<List<Integer>> found = new ArrayList<>();
        IntStream.range(0, plan.operators.size())
                .filter(i -> plan.operators.get(i).kind().equals("source"))
                .forEach(i -> found.add(List.of(i)));
        Set<Integer> placed = new HashSet<>();
        for (int at = 0; at < found.size(); at++) { // it grows meanwhile
            List<Integer> next = targets(found.get(at)).boxed().toList();
            if (areReplicas(plan, found.get(at), next)) {
                found.add(next);
            } else {
                next.stream().filter(placed::add).forEach(i -> found.add(List.of(i)));
            }
        }
        return found;
    }

    private static IntStream targets(List<Integer> operators) {
        return operators.stream().flatMap(i -> Run.plan.operators.get(i).ports().stream()).flatMap(List::stream).mapToInt(Plan.Stream::target);
    }

    private static boolean areReplicas(Plan plan, List<Integer> senders, List<Integer> operators) {
        int ports = senders.stream().mapToInt(i -> plan.operators.get(i).ports().size()).sum();
        return operators.size() > 1
                && ports == operators.size()
                && (senders.size() == 1 || senders.size() == operators.size())
                && operators.stream().allMatch(i -> plan.arriving.get(i) == 1 && alike(plan.operators.get(i), plan.operators.get(operators.get(0))));
    }

    private static boolean alike(Plan.Operator one, Plan.Operator other) {
        return one.kind().equals("work")
                && other.kind().equals("work")
                && one.cost() == other.cost()
                && one.busyNs() == other.busyNs()
                && one.ports().size() == other.ports().size();
    }

    private static int componentOf(int operator) {
        return IntStream.range(0, components.size()).filter(i -> components.get(i).contains(operator)).findFirst().orElseThrow();
    }

    /** The parallelism hint of a bolt: an executor for each replica, or, where it is tuned, no more than there are CPUs. */
    private int executors(int component) {
        int replicas = components.get(component).size();
        return plan.batch == 1 ? replicas : Math.min(replicas, Runtime.getRuntime().availableProcessors());
    }

    private static String name(int component) {
        return "component" + component;
    }

    /** The method of both kinds of collectors that sends values to a task. */
    private interface Emitter {
        void emitDirect(int task, List<Object> values);
    }

    /** The output ports of an operator; tuples take them in turn. It sends to tasks, which it knows by their numbers. */
    private static final class Out {
        private final List<List<Plan.Stream>> ports;
        private final int[][] tasks;
        private final Emitter collector;
        private int turn;

        Out(int operator, TopologyContext context, Emitter collector) {
            this.collector = collector;
            ports = Run.plan.operators.get(operator).ports();
            tasks = ports.stream()
                    .map(port -> port.stream().mapToInt(stream -> taskOf(stream.target(), context)).toArray())
                    .toArray(int[][]::new);
        }

        private int taskOf(int operator, TopologyContext context) {
            int component = componentOf(operator);
            return context.getComponentTasks(name(component)).get(components.get(component).indexOf(operator));
        }

        /** Sends a push on every stream. */
        void push() {
            for (int[] port : tasks) {
                for (int task : port) {
                    collector.emitDirect(task, new Values(new millrace.Tuple(PUSH, 0, 0.0, 0, null)));
                }
            }
        }

        void send(millrace.Tuple tuple) {
            List<Plan.Stream> streams = ports.get(turn);
            int path = tuple.path;
            for (int k = streams.size() - 1; k > 0; k--) { // a tuple belongs to whoever has it
                int stepped = path + streams.get(k).step();
                millrace.Tuple copy = new millrace.Tuple(tuple.sequence, tuple.born, tuple.value, stepped, tuple.payload);
                collector.emitDirect(tasks[turn][k], new Values(copy));
            }
            tuple.path = path + streams.get(0).step();
            collector.emitDirect(tasks[turn][0], new Values(tuple));
            turn = turn + 1 == tasks.length ? 0 : turn + 1;
        }
    }

    /** Public, as all that Storm makes anew in its workers. */
    public static final class Source extends BaseRichSpout {
        private final int number;
        private transient Tally tally;
        private transient Out out;
        private transient boolean over;
        private transient long pushed;

        Source(int number) {
            this.number = number;
        }

        @Override
        public void open(Map<String, Object> config, TopologyContext context, SpoutOutputCollector collector) {
            tally = Run.tally(number);
            out = new Out(number, context, collector::emitDirect);
            deployed.countDown();
        }

        @Override
        public void nextTuple() {
            if (!started) {
                return;
            }
            if (over) {
                if (System.nanoTime() - pushed > PUSH_NS) {
                    pushed = System.nanoTime();
                    out.push();
                }
                return;
            }
            if (!tally.isDue()) {
                return; // Storm waits, and asks again
            }
            millrace.Tuple tuple = tally.send(Run.plan.limit);
            if (tuple == null) {
                over = true;
                Counted.end(number);
                return;
            }
            out.send(tuple);
            tally.count();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(true, FIELDS);
        }
    }

    public static final class Step extends BaseRichBolt {
        private final ArrayList<Integer> replicas;
        private transient Tally tally;
        private transient Out out;
        private transient boolean isSink;

        Step(List<Integer> replicas) {
            this.replicas = new ArrayList<>(replicas);
        }

        @Override
        public void prepare(Map<String, Object> config, TopologyContext context, OutputCollector collector) {
            int number = replicas.get(context.getThisTaskIndex());
            tally = Run.tally(number);
            out = new Out(number, context, collector::emitDirect);
            isSink = Run.plan.operators.get(number).kind().equals("sink");
            deployed.countDown();
        }

        @Override
        public void execute(Tuple input) {
            millrace.Tuple tuple = (millrace.Tuple) input.getValue(0);
            if (tuple.sequence == PUSH) {
                out.push();
            } else if (isSink) {
                tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
            } else if (!tally.leaves(tuple.sequence)) {
                tuple.value = tally.work(tuple.value);
                out.send(tuple);
                tally.count();
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(true, FIELDS);
        }
    }
}
