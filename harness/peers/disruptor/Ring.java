import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.ExceptionHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.dsl.Disruptor;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;

/**
 * Chains of one length between a source and a sink, on one ring of the LMAX Disruptor: the source publishes events, and event handlers, which
 * execute operators, follow the handlers of the operators before. Nothing is handed over but the number of the last event.
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
    private final Handlers handlers;

    /** Its event handlers: `rows` of them beside each other, each of `stages` that follow one another, and one for the sink, if it is `apart`. */
    record Handlers(int rows, int stages, boolean apart) {
        int number() {
            return rows * stages + (apart ? 1 : 0);
        }
    }

    Ring(Plan plan, Chains chains, Handlers handlers, Disruptor<E> disruptor) {
        this.plan = plan;
        this.chains = chains;
        this.handlers = handlers;
        this.disruptor = disruptor;
        running = new CountDownLatch(threads());
        disruptor.setDefaultExceptionHandler(new Failing<>());
    }

    /** Fails the run when a handler has thrown something. By default only the handler's thread would end. */
    private static final class Failing<E> implements ExceptionHandler<E> {
        @Override
        public void handleEventException(Throwable problem, long at, E event) {
            Run.fail(problem);
        }

        @Override
        public void handleOnStartException(Throwable problem) {
            Run.fail(problem);
        }

        @Override
        public void handleOnShutdownException(Throwable problem) {
            Run.fail(problem);
        }
    }

    /** Publishes the events of the source. */
    abstract void send(RingBuffer<E> ring);

    /** The handlers, by row and stage, and that of the sink, which follows all, if it is apart. */
    @SuppressWarnings("unchecked") // arrays of a generic type
    final void connect(BiFunction<Integer, Integer, EventHandler<E>> handler, EventHandler<E> sink) {
        if (handlers.stages() == 0) {
            disruptor.handleEventsWith(sink);
            return;
        }
        EventHandler<E>[] heads = new EventHandler[handlers.rows()];
        for (int row = 0; row < heads.length; row++) {
            heads[row] = handler.apply(row, 0);
            disruptor.handleEventsWith(heads[row]);
            for (int stage = 1; stage < handlers.stages(); stage++) {
                EventHandler<E> next = handler.apply(row, stage);
                disruptor.after(heads[row]).handleEventsWith(next);
                heads[row] = next;
            }
        }
        if (handlers.apart()) {
            disruptor.after(heads).handleEventsWith(sink);
        }
    }

    /** The length of a ring for so many events, at least: a power of two. */
    static int length(int events) {
        return Integer.highestOneBit(Math.max(1, 2 * events - 1));
    }

    @Override
    public int threads() {
        return handlers.number() + 1;
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
        try {
            send(ring);
            ring.publishEvent((event, at) -> event.last = true);
        } catch (Throwable problem) {
            Run.fail(problem);
        }
        running.countDown();
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return running.await(ms, TimeUnit.MILLISECONDS);
    }
}
