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
import java.util.List;
import java.util.concurrent.CountDownLatch;
import millrace.Counted;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/** A graph in Hazelcast Jet: a vertex with one processor an operator, an edge a stream, in a cluster of one member in this process. */
public final class Main implements Run.Engine {

    private static volatile boolean started; // sources are silent before
    private static CountDownLatch deployed;

    private final Plan plan;
    private final int threads;

    private Main(Plan plan) {
        this.plan = plan;
        Counted.watch(plan);
        deployed = new CountDownLatch(plan.operators.size());
        HazelcastInstance member = Hazelcast.newHazelcastInstance(alone());
        threads = member.getConfig().getJetConfig().getCooperativeThreadCount();
        member.getJet().newJob(graph(plan)).getFuture().whenComplete((done, problem) -> {
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

    private static DAG graph(Plan plan) {
        DAG graph = new DAG();
        Vertex[] vertices = new Vertex[plan.operators.size()];
        for (int i = 0; i < vertices.length; i++) {
            vertices[i] = vertex(graph, i, plan.operators.get(i).kind()).localParallelism(1);
        }
        int[] arrived = new int[vertices.length];
        for (int i = 0; i < vertices.length; i++) {
            int ordinal = 0;
            for (List<Plan.Stream> port : plan.operators.get(i).ports()) {
                for (Plan.Stream stream : port) {
                    int target = stream.target();
                    Edge edge = Edge.from(vertices[i], ordinal++).to(vertices[target], arrived[target]++);
                    graph.edge(edge.setConfig(new EdgeConfig().setQueueSize(plan.capacity)));
                }
            }
        }
        return graph;
    }

    private static Vertex vertex(DAG graph, int number, String kind) {
        String name = "operator" + number;
        return switch (kind) {
            case "source" -> graph.newVertex(name, () -> new Source(number));
            case "sink" -> graph.newVertex(name, () -> new Sink(number));
            default -> graph.newVertex(name, () -> new Step(number));
        };
    }

    /** An operator that sends. Tuples take its output ports in turn; one that finds a full queue waits until Jet calls again. */
    private abstract static class Sender extends AbstractProcessor {
        final Tally tally;
        private final List<List<Plan.Stream>> ports;
        private final int[] first; // edge of a port
        private Tuple waiting; // for room in a queue; null: none
        private Tuple offered; // it, or its copy for one of several streams
        private int path;
        private int turn;
        private int sent; // streams of this port that have it

        Sender(int number) {
            tally = Run.tally(number);
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

        Source(int number) {
            super(number);
            this.number = number;
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

    private static final class Step extends Sender {
        Step(int number) {
            super(number);
        }

        @Override
        public boolean tryProcess() {
            return flush();
        }

        @Override
        public void process(int edge, Inbox inbox) {
            if (!flush()) {
                return;
            }
            double before = 1.0;
            for (Tuple tuple; (tuple = (Tuple) inbox.poll()) != null; ) {
                if (!tally.leaves(tuple.sequence)) {
                    tuple.value = before = tally.workAfter(before, tuple.value);
                    tally.count();
                    if (!send(tuple)) {
                        return;
                    }
                }
            }
        }

        @Override
        public boolean complete() {
            return flush();
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
