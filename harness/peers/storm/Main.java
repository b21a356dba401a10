import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

/** A graph in Storm: a spout a source, a bolt each other operator, one executor each, in a local cluster in this process. */
public final class Main implements Run.Engine {
    private static final Fields FIELDS = new Fields("tuple");
    private static final int DEPLOYED_S = 40;
    private static final Map<String, Object> PATIENT = Map.of( // a cluster in one process must not give up parts that get no CPU
            "nimbus.supervisor.timeout.secs", 3600,
            "nimbus.task.timeout.secs", 3600,
            "supervisor.worker.timeout.secs", 3600,
            "storm.zookeeper.session.timeout", 3_600_000,
            "storm.zookeeper.connection.timeout", 60_000);

    // A batch that found room for a part of it only is not sent on before its executor emits again: when a source has ended, tuples of this
    // number push what is left through. Nobody counts them.
    private static final long PUSH = -1;
    private static final long PUSH_NS = 1_000_000;

    private static volatile boolean started; // spouts are silent before
    private static CountDownLatch deployed;

    private final Plan plan;

    private Main(Plan plan) {
        this.plan = plan;
        deployed = new CountDownLatch(plan.operators.size());
        Counted.watch(plan);
        try {
            LocalCluster cluster = new LocalCluster.Builder().withDaemonConf(PATIENT).build();
            cluster.submitTopology("graph", config(plan), topology(plan).createTopology());
            if (!deployed.await(DEPLOYED_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException(deployed.getCount() + " operators were not deployed within " + DEPLOYED_S + " s");
            }
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    public static void main(String[] words) {
        Run.main(words[0], Main::new);
    }

    @Override
    public int threads() {
        return plan.operators.size();
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
        // Storm refuses a batch that is longer than half of the buffer
        config.put(Config.TOPOLOGY_PRODUCER_BATCH_SIZE, Math.max(1, Math.min(Integer.getInteger("batch"), plan.capacity / 2)));
        config.put(Config.TOPOLOGY_DISABLE_LOADAWARE_MESSAGING, true);
        config.put(Config.TOPOLOGY_STATS_SAMPLE_RATE, 0.001);
        return config;
    }

    private static TopologyBuilder topology(Plan plan) {
        TopologyBuilder builder = new TopologyBuilder();
        BoltDeclarer[] bolts = new BoltDeclarer[plan.operators.size()];
        for (int i = 0; i < bolts.length; i++) {
            if (plan.operators.get(i).kind().equals("source")) {
                builder.setSpout(name(i), new Source(i), 1);
            } else {
                bolts[i] = builder.setBolt(name(i), new Step(i), 1);
            }
        }
        for (int i = 0; i < bolts.length; i++) {
            List<List<Plan.Stream>> ports = plan.operators.get(i).ports();
            for (int port = 0; port < ports.size(); port++) {
                for (int k = 0; k < ports.get(port).size(); k++) {
                    bolts[ports.get(port).get(k).target()].globalGrouping(name(i), stream(port, k));
                }
            }
        }
        return builder;
    }

    private static String name(int operator) {
        return "operator" + operator;
    }

    private static String stream(int port, int k) {
        return "port" + port + "." + k;
    }

    private static void declare(int operator, OutputFieldsDeclarer declarer) {
        List<List<Plan.Stream>> ports = Run.plan.operators.get(operator).ports();
        for (int port = 0; port < ports.size(); port++) {
            for (int k = 0; k < ports.get(port).size(); k++) {
                declarer.declareStream(stream(port, k), FIELDS);
            }
        }
    }

    /** The output ports of an operator; tuples take them in turn. */
    private static final class Out {
        private final List<List<Plan.Stream>> ports;
        private final String[][] names;
        private int turn;

        Out(int operator) {
            ports = Run.plan.operators.get(operator).ports();
            names = new String[ports.size()][];
            for (int port = 0; port < names.length; port++) {
                names[port] = new String[ports.get(port).size()];
                for (int k = 0; k < names[port].length; k++) {
                    names[port][k] = stream(port, k);
                }
            }
        }

        /** Sends a push on every stream. */
        void push(java.util.function.BiConsumer<String, Values> emit) {
            for (String[] streams : names) {
                for (String stream : streams) {
                    emit.accept(stream, new Values(new millrace.Tuple(PUSH, 0, 0.0, 0, null)));
                }
            }
        }

        void send(millrace.Tuple tuple, java.util.function.BiConsumer<String, Values> emit) {
            List<Plan.Stream> streams = ports.get(turn);
            int path = tuple.path;
            for (int k = streams.size() - 1; k > 0; k--) { // a tuple belongs to whoever has it
                int stepped = path + streams.get(k).step();
                millrace.Tuple copy = new millrace.Tuple(tuple.sequence, tuple.born, tuple.value, stepped, tuple.payload);
                emit.accept(names[turn][k], new Values(copy));
            }
            tuple.path = path + streams.get(0).step();
            emit.accept(names[turn][0], new Values(tuple));
            turn = turn + 1 == names.length ? 0 : turn + 1;
        }
    }

    /** Public, as all that Storm makes anew in its workers. */
    public static final class Source extends BaseRichSpout {
        private final int number;
        private transient SpoutOutputCollector collector;
        private transient Tally tally;
        private transient Out out;
        private transient boolean over;
        private transient long pushed;

        Source(int number) {
            this.number = number;
        }

        @Override
        public void open(Map<String, Object> config, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            tally = Run.tally(number);
            out = new Out(number);
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
                    out.push((stream, values) -> collector.emit(stream, values));
                }
                return;
            }
            millrace.Tuple tuple = tally.send(Run.plan.limit);
            if (tuple == null) {
                over = true;
                Counted.end(number);
                return;
            }
            out.send(tuple, (stream, values) -> collector.emit(stream, values));
            tally.count();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declare(number, declarer);
        }
    }

    public static final class Step extends BaseRichBolt {
        private final int number;
        private transient OutputCollector collector;
        private transient Tally tally;
        private transient Out out;
        private transient boolean isSink;

        Step(int number) {
            this.number = number;
        }

        @Override
        public void prepare(Map<String, Object> config, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            tally = Run.tally(number);
            out = new Out(number);
            isSink = Run.plan.operators.get(number).kind().equals("sink");
            deployed.countDown();
        }

        @Override
        public void execute(Tuple input) {
            millrace.Tuple tuple = (millrace.Tuple) input.getValue(0);
            if (tuple.sequence == PUSH) {
                out.push((stream, values) -> collector.emit(stream, values));
            } else if (isSink) {
                tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
            } else if (!tally.leaves(tuple.sequence)) {
                tuple.value = tally.work(tuple.value);
                out.send(tuple, (stream, values) -> collector.emit(stream, values));
                tally.count();
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declare(number, declarer);
        }
    }
}
