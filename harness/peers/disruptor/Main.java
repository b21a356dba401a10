import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.util.DaemonThreadFactory;
import java.util.List;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/** The chains with tuples as events. */
public final class Main extends Ring<Main.Event> {
    static final class Event extends Ring.Event {
        long sequence;
        long born;
        double value;
        final byte[] payload = new byte[Run.plan.payload];
    }

    private Main(Plan plan, Chains chains) {
        super(plan, chains, new Handlers(chains.width(), chains.depth(), true), ring(plan));
        connect(Step::new, new Sink());
    }

    private static Disruptor<Event> ring(Plan plan) {
        return new Disruptor<>(Event::new, length(plan.capacity), DaemonThreadFactory.INSTANCE);
    }

    public static void main(String[] words) {
        Run.main(words[0], plan -> {
            Chains chains = new Chains(plan);
            return plan.batch == 1 ? new Main(plan, chains) : new Blocks(plan, chains);
        });
    }

    @Override
    void send(RingBuffer<Event> ring) {
        Tally tally = Run.tally(chains.source);
        while (tally.goesOn(plan.limit)) {
            tally.awaitDue();
            ring.publishEvent(Main::fill, tally, chains); // a lambda that captures these would be garbage
        }
    }

    private static void fill(Event event, long at, Tally tally, Chains chains) {
        event.sequence = tally.executed();
        event.born = tally.born();
        event.value = Tuple.valueOf(event.sequence);
        event.chain = (int) (event.sequence % chains.width());
        event.left = false;
        Tuple.fill(event.sequence, event.payload, 0, event.payload.length);
        tally.count();
    }

    /** One operator of one chain. Every handler sees every event, and leaves alone those of other chains. */
    private final class Step implements EventHandler<Event> {
        private final int chain;
        private final Tally tally;
        private double before; // what it made of the tuple before, in this run of events

        Step(int chain, int step) {
            this.chain = chain;
            tally = Run.tally(chains.chains.get(chain).operators()[step]);
        }

        @Override
        public void onBatchStart(long events, long waiting) {
            before = 1.0;
        }

        @Override
        public void onEvent(Event event, long at, boolean endsBatch) {
            if (event.last) {
                running.countDown();
            } else if (event.chain == chain && !event.left) {
                event.left = tally.leaves(event.sequence);
                if (!event.left) {
                    event.value = before = tally.workAfter(before, event.value);
                    tally.count();
                }
            }
        }
    }

    private final class Sink implements EventHandler<Event> {
        private final Tally tally = Run.tally(chains.sink);
        private final List<Chains.Chain> ways = chains.chains;

        @Override
        public void onEvent(Event event, long at, boolean endsBatch) {
            if (event.last) {
                running.countDown();
            } else if (!event.left) {
                tally.receive(event.sequence, event.born, event.value, ways.get(event.chain).path(), event.payload);
            }
        }
    }
}
