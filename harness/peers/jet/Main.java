import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.jet.config.EdgeConfig;
import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Edge;
import com.hazelcast.jet.core.Inbox;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.Vertex;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import millrace.Counted;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/**
 * A graph in Hazelcast Jet, in a cluster of one member in this process: vertices with one processor each, and an edge for each stream between
 * them. A vertex is one operator, or several consecutive ones (`fused`), as Jet's own planner makes of stateless transforms.
 */
public final class Main implements Run.Engine {
    private static final int TAKEN = 128; // tuples, at most, so that they stay in the first-level cache
    private static final String SHORT_SLEEP_US = "25"; // of a thread without tuples, the shortest by default
    private static final int TAKEN_FLOP = 64 << 10; // or ns: work on those taken at once, at most, as each waits for the others
    private static final int CALL_FLOP = 1 << 20; // or ns: work in a call, about a millisecond, as other processors wait for its thread

    private static volatile boolean started; // sources are silent before
    private static CountDownLatch deployed;

    private final Plan plan;
    private final int threads;
    private final int batch;

    private Main(Plan plan) {
        this.plan = plan;
        Counted.watch(plan);
        boolean isFused = Boolean.getBoolean("fused");
        Config config = alone();
        if (isFused && plan.operators.stream().anyMatch(operator -> operator.gapNs() > 0.0)) { // for low latency
            config.setProperty("hazelcast.jet.idle.cooperative.max.microseconds", SHORT_SLEEP_US);
        }
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
        threads = member.getConfig().getJetConfig().getCooperativeThreadCount();
        List<List<Integer>> parts = parts(plan, threads, isFused);
        batch = parts.stream().mapToInt(Main::taken).min().orElse(TAKEN);
        deployed = new CountDownLatch(parts.size());
        member.getJet().newJob(graph(plan, parts)).getFuture().whenComplete((done, problem) -> {
            if (problem != null) {
                Run.fail(problem);
            }
        });
        Run.awaitDeployed(deployed);
    }

    public static void main(String[] words) {
        Run.main(words[0], Main::new);
    }

    /** Those that execute processors: Jet has one for each CPU. */
    @Override
    public int threads() {
        return threads;
    }

    /** A queue's length is a power of two. */
    @Override
    public int capacity() {
        return Integer.highestOneBit(Math.max(1, 2 * plan.capacity - 1));
    }

    /** Those that the processor with the most work takes at once, at most. */
    @Override
    public int batch() {
        return batch;
    }

    @Override
    public void start() {
        started = true;
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return Counted.await(plan, ms);
    }

    /** A member that looks for no others, and that no others reach. */
    private static Config alone() {
        Config config = new Config();
        config.getJetConfig().setEnabled(true);
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        return config;
    }

    /** `parts`: the operators of each vertex. Edges leave the last one, and come to the first. */
    private static DAG graph(Plan plan, List<List<Integer>> parts) {
        DAG graph = new DAG();
        Map<Integer, Vertex> vertices = new HashMap<>(); // by first operator
        for (List<Integer> part : parts) {
            int[] operators = part.stream().mapToInt(Integer::intValue).toArray();
            vertices.put(operators[0], vertex(graph, operators, plan.operators.get(operators[0]).kind()).localParallelism(1));
        }
        int[] arrived = new int[plan.operators.size()];
        for (List<Integer> part : parts) {
            int ordinal = 0;
            for (List<Plan.Stream> port : plan.operators.get(part.get(part.size() - 1)).ports()) {
                for (Plan.Stream stream : port) {
                    int target = stream.target();
                    Edge edge = Edge.from(vertices.get(part.get(0)), ordinal++).to(vertices.get(target), arrived[target]++);
                    graph.edge(edge.setConfig(new EdgeConfig().setQueueSize(plan.capacity)));
                }
            }
        }
        return graph;
    }

    private static Vertex vertex(DAG graph, int[] operators, String kind) {
        String name = "operator" + operators[0];
        return switch (kind) {
            case "source" -> graph.newVertex(name, () -> new Source(operators[0]));
            case "sink" -> graph.newVertex(name, () -> new Sink(operators[0]));
            default -> graph.newVertex(name, () -> new Step(operators));
        };
    }

    /** Each operator by itself or, if fused, each chain of them in parts of about one length: in one, if there are enough chains for all threads. */
    private static List<List<Integer>> parts(Plan plan, int threads, boolean fused) {
        int operators = plan.operators.size();
        int[] next = new int[operators]; // in the same chain; -1: none
        boolean[] follows = new boolean[operators];
        for (int i = 0; i < operators; i++) {
            next[i] = fused ? next(plan, i) : -1;
            if (next[i] >= 0) {
                follows[next[i]] = true;
            }
        }
        List<List<Integer>> chains = new ArrayList<>();
        int working = 0;
        for (int i = 0; i < operators; i++) {
            if (!follows[i]) {
                List<Integer> chain = new ArrayList<>();
                for (int at = i; at >= 0; at = next[at]) {
                    chain.add(at);
                }
                chains.add(chain);
                working += plan.operators.get(i).kind().equals("work") ? 1 : 0;
            }
        }
        int most = (threads + working - 1) / Math.max(1, working);
        List<List<Integer>> parts = new ArrayList<>();
        for (List<Integer> chain : chains) {
            int length = chain.size();
            int count = Math.max(1, Math.min(length, most));
            for (int part = 0; part < count; part++) {
                parts.add(chain.subList(part * length / count, (part + 1) * length / count));
            }
        }
        return parts;
    }

    /** The work operator that all tuples of a work operator go to, and no others; -1 if there is none. */
    private static int next(Plan plan, int number) {
        Plan.Operator operator = plan.operators.get(number);
        if (!operator.kind().equals("work") || operator.ports().size() != 1 || operator.ports().get(0).size() != 1) {
            return -1;
        }
        int target = operator.ports().get(0).get(0).target();
        return plan.operators.get(target).kind().equals("work") && plan.arriving.get(target) == 1 ? target : -1;
    }

    /** An operator that sends. Tuples take its output ports in turn; one that finds a full queue waits until Jet calls again. */
    private abstract static class Sender extends AbstractProcessor {
        private final List<List<Plan.Stream>> ports;
        private final int[] first; // edge of a port
        private Tuple waiting; // for room in a queue; null: none
        private Tuple offered; // it, or its copy for one of several streams
        private int path;
        private int turn;
        private int sent; // streams of this port that have it

        Sender(int number) {
            ports = Run.plan.operators.get(number).ports();
            first = new int[ports.size()];
            for (int port = 1; port < first.length; port++) {
                first[port] = first[port - 1] + ports.get(port - 1).size();
            }
        }

        @Override
        protected void init(Processor.Context context) {
            deployed.countDown();
        }

        /** False if a queue is full: then `flush` goes on later. */
        boolean send(Tuple tuple) {
            waiting = tuple;
            path = tuple.path;
            return flush();
        }

        /** A tuple belongs to whoever has it, so that where several get it each but the last gets a copy. */
        boolean flush() {
            if (waiting == null) {
                return true;
            }
            List<Plan.Stream> streams = ports.get(turn);
            for (; sent < streams.size(); sent++) {
                if (offered == null) {
                    boolean isLast = sent == streams.size() - 1;
                    offered = isLast ? waiting : new Tuple(waiting.sequence, waiting.born, waiting.value, 0, waiting.payload);
                    offered.path = path + streams.get(sent).step();
                }
                if (!tryEmit(first[turn] + sent, offered)) {
                    return false; // Jet wants the same object again
                }
                offered = null;
            }
            waiting = null;
            sent = 0;
            turn = turn + 1 == first.length ? 0 : turn + 1;
            return true;
        }
    }

    private static final class Source extends Sender {
        private final int number;
        private final Tally tally;

        Source(int number) {
            super(number);
            this.number = number;
            tally = Run.tally(number);
        }

        @Override
        public boolean complete() {
            if (!started || !flush()) {
                return false;
            }
            while (tally.goesOn(Run.plan.limit)) {
                if (!tally.isDue()) {
                    return false; // Jet waits, and calls again
                }
                Tuple tuple = tally.send(Run.plan.limit);
                tally.count();
                if (!send(tuple)) {
                    return false;
                }
            }
            Counted.end(number);
            return true;
        }
    }

    /** Tuples that a processor of these operators takes at once, at most. */
    private static int taken(List<Integer> operators) {
        return (int) Math.max(2, Math.min(TAKEN, TAKEN_FLOP / work(operators)));
    }

    /** FLOP, or ns, that a tuple takes at these operators; 1 at least. */
    private static double work(List<Integer> operators) {
        double work = operators.stream()
                .map(Run.plan.operators::get)
                .mapToDouble(operator -> Math.max(operator.cost(), operator.busyNs()))
                .sum();
        return Math.max(1.0, work);
    }

    /** Operators of a chain, which a processor executes one after the other: each on all tuples that it has taken from its queue. */
    private static final class Step extends Sender {
        private final Tally[] tallies;
        private final int steps; // that the streams between its operators add to a path
        private final int most; // tuples that it takes at once
        private final int called; // tuples after which a call ends
        private final Tuple[] taken;
        private final double[] values;
        private int count;
        private int passed; // of them sent on

        Step(int[] operators) {
            super(operators[operators.length - 1]);
            tallies = IntStream.of(operators).mapToObj(Run::tally).toArray(Tally[]::new);
            List<Integer> numbers = IntStream.of(operators).boxed().toList();
            most = taken(numbers);
            called = (int) (CALL_FLOP / work(numbers));
            taken = new Tuple[most];
            values = new double[most];
            steps = IntStream.of(operators)
                    .limit(operators.length - 1)
                    .map(at -> Run.plan.operators.get(at).ports().get(0).get(0).step())
                    .sum();
        }

        @Override
        public boolean tryProcess() {
            return pass();
        }

        @Override
        public void process(int edge, Inbox inbox) {
            int done = 0; // tuples in this call
            while (pass() && !inbox.isEmpty() && (done == 0 || done < called)) {
                passed = 0;
                for (count = 0; count < most && !inbox.isEmpty(); count++) {
                    taken[count] = (Tuple) inbox.poll();
                    values[count] = taken[count].value;
                }
                done += count;
                execute();
            }
        }

        @Override
        public boolean complete() {
            return pass();
        }

        private void execute() {
            for (Tally tally : tallies) {
                if (Run.cut) {
                    while (count > 0) {
                        tally.leaves(taken[--count].sequence);
                    }
                    return;
                }
                tally.work(values, count);
                tally.count(count);
            }
            for (int i = 0; i < count; i++) {
                taken[i].value = values[i];
                taken[i].path += steps;
            }
        }

        /** False if a queue is full: then it goes on later. */
        private boolean pass() {
            boolean hasRoom = flush();
            while (hasRoom && passed < count) {
                hasRoom = send(taken[passed++]);
            }
            return hasRoom;
        }
    }

    private static final class Sink extends AbstractProcessor {
        private final Tally tally;

        Sink(int number) {
            tally = Run.tally(number);
        }

        @Override
        protected void init(Processor.Context context) {
            deployed.countDown();
        }

        @Override
        public void process(int edge, Inbox inbox) {
            for (Tuple tuple; (tuple = (Tuple) inbox.poll()) != null; ) {
                tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
            }
        }
    }
}
