import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;

/**
 * Chains of one length between a source and a sink, on one ring of the LMAX Disruptor: the source publishes events, and an event handler for
 * each operator follows the handlers of the operator before. Nothing is handed over but the number of the last event.
 */
abstract class Ring<E extends Ring.Event> implements Run.Engine {
    static class Event {
        int chain; // that it takes
        boolean left; // an operator has counted it as not executed
        boolean last; // of the stream; it has no tuples
    }

    final Plan plan;
    final Chains chains;
    final CountDownLatch running; // each thread counts down at the last event
    private final Disruptor<E> disruptor;

    Ring(Plan plan, Chains chains, Disruptor<E> disruptor) {
        this.plan = plan;
        this.chains = chains;
        this.disruptor = disruptor;
        running = new CountDownLatch(threads());
    }

    /** Publishes the events of the source. */
    abstract void send(RingBuffer<E> ring);

    /** A handler for each operator follows that of the operator before, and the sink's follows all. */
    @SuppressWarnings("unchecked") // arrays of a generic type
    final void connect(BiFunction<Integer, Integer, EventHandler<E>> handler, EventHandler<E> sink) {
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

    static int handlers(Chains chains) {
        return chains.width() * chains.depth() + 1;
    }

    /** The length of a ring for so many events, at least: a power of two. */
    static int length(int events) {
        return Integer.highestOneBit(Math.max(1, 2 * events - 1));
    }

    @Override
    public int threads() {
        return handlers(chains) + 1;
    }

    @Override
    public int capacity() {
        return (int) disruptor.getBufferSize() * plan.batch;
    }

    @Override
    public void start() {
        RingBuffer<E> ring = disruptor.start();
        Thread source = new Thread(() -> sendAll(ring), "source");
        source.setDaemon(true);
        source.start();
    }

    private void sendAll(RingBuffer<E> ring) {
        send(ring);
        ring.publishEvent((event, at) -> event.last = true);
        running.countDown();
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return running.await(ms, TimeUnit.MILLISECONDS);
    }
}
