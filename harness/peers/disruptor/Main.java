import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.util.DaemonThreadFactory;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/**
 * Chains of one length between a source and a sink, on one ring of the LMAX Disruptor: the source publishes tuples, and an event handler for
 * each operator follows the handlers of the operator before. Nothing is handed over but the number of the last tuple.
 */
public final class Main implements Run.Engine {
    private static final class Event {
        long sequence;
        long born;
        double value;
        int chain; // that it takes
        boolean left; // an operator has counted it as not executed
        boolean last; // of the stream; it is no tuple
        final byte[] payload = new byte[Run.plan.payload];
    }

    private final Plan plan;
    private final Chains chains;
    private final CountDownLatch running;
    private final Disruptor<Event> disruptor;

    private Main(Plan plan) {
        this.plan = plan;
        chains = new Chains(plan);
        running = new CountDownLatch(threads());
        disruptor = new Disruptor<>(Event::new, capacity(), DaemonThreadFactory.INSTANCE);
        connect(disruptor, chains, Step::new, new Sink());
    }

    /** A handler for each operator follows that of the operator before, and the sink's follows all. */
    @SuppressWarnings("unchecked") // arrays of a generic type
    static <E> void connect(
            Disruptor<E> disruptor, Chains chains, BiFunction<Integer, Integer, EventHandler<E>> handler, EventHandler<E> sink) {
        if (chains.depth() == 0) {
            disruptor.handleEventsWith(sink);
            return;
        }
        EventHandler<E>[] heads = new EventHandler[chains.width()];
        for (int chain = 0; chain < heads.length; chain++) {
            heads[chain] = handler.apply(chain, 0);
            disruptor.handleEventsWith(heads[chain]);
            for (int step = 1; step < chains.depth(); step++) {
                EventHandler<E> next = handler.apply(chain, step);
                disruptor.after(heads[chain]).handleEventsWith(next);
                heads[chain] = next;
            }
        }
        disruptor.after(heads).handleEventsWith(sink);
    }

    public static void main(String[] words) {
        Run.main(words[0], plan -> plan.batch == 1 ? new Main(plan) : new Blocks(plan));
    }

    @Override
    public int threads() {
        return chains.width() * chains.depth() + 2;
    }

    /** A ring's length is a power of two. */
    @Override
    public int capacity() {
        return Integer.highestOneBit(Math.max(1, 2 * plan.capacity - 1));
    }

    @Override
    public void start() {
        RingBuffer<Event> ring = disruptor.start();
        Thread source = new Thread(() -> send(ring), "source");
        source.setDaemon(true);
        source.start();
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return running.await(ms, TimeUnit.MILLISECONDS);
    }

    private void send(RingBuffer<Event> ring) {
        Tally tally = Run.tally(chains.source);
        while (tally.goesOn(plan.limit)) {
            tally.awaitDue();
            ring.publishEvent((event, at) -> fill(event, tally));
        }
        ring.publishEvent((event, at) -> event.last = true);
        running.countDown();
    }

    private void fill(Event event, Tally tally) {
        event.sequence = tally.executed();
        event.born = tally.born();
        event.value = Tuple.valueOf(event.sequence);
        event.chain = (int) (event.sequence % chains.width());
        event.left = false;
        Tuple.fill(event.sequence, event.payload, 0, plan.payload);
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
