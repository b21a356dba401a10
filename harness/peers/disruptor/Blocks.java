import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.Sequence;
import com.lmax.disruptor.SleepingWaitStrategy;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.YieldingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.lmax.disruptor.util.DaemonThreadFactory;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import millrace.Block;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;

/**
 * The chains with blocks of tuples as events: they share what an event costs at each handler. The ring makes blocks once. There are no more
 * handlers of work than CPUs: each calls several operators, one after the other.
 */
final class Blocks extends Ring<Blocks.Event> {
    private static final int CPUS = Runtime.getRuntime().availableProcessors();
    private static final long SLEEP_NS = 100_000; // of a handler without events, and of a source without room
    private static final long SHORT_SLEEP_NS = 25_000; // of a handler, if the source has a rate
    private static final int LIGHT_FLOP = 100; // of all operators that a tuple passes
    private static final int LONGEST = 256; // blocks in a ring for few chains: 16 MiB where tuples are large

    static final class Event extends Ring.Event {
        final Block block = new Block(Run.plan.batch, Run.plan.payload);
    }

    private final Sink sink = new Sink();
    private final boolean sharesCpus;

    Blocks(Plan plan, Chains chains) {
        this(plan, chains, handlers(plan, chains));
    }

    private Blocks(Plan plan, Chains chains, Handlers handlers) {
        super(plan, chains, handlers, ring(plan, chains, handlers));
        sharesCpus = handlers.number() >= CPUS;
        connect((row, stage) -> new Steps(handlers, row, stage), sink);
    }

    /**
     * Chains are shared out to the CPUs, or else the operators of the few chains. One row of handlers sees all events, so its last is the sink. If
     * operators take less time than the source, one handler is all.
     */
    private static Handlers handlers(Plan plan, Chains chains) {
        if (chains.chains.stream().allMatch(chain -> isLight(plan, chain))) {
            return new Handlers(1, 1, false);
        }
        int rows = Math.min(chains.width(), CPUS);
        int stages = Math.min(chains.depth(), Math.max(1, CPUS / rows));
        return new Handlers(rows, stages, rows > 1 || stages == 0);
    }

    private static boolean isLight(Plan plan, Chains.Chain chain) {
        return Arrays.stream(chain.operators()).mapToObj(plan.operators::get).allMatch(operator -> operator.busyNs() == 0)
                && Arrays.stream(chain.operators()).map(i -> plan.operators.get(i).cost()).sum() < LIGHT_FLOP;
    }

    /** It holds as many tuples as a queue before each operator would. */
    private static Disruptor<Event> ring(Plan plan, Chains chains, Handlers handlers) {
        int operators = chains.width() * chains.depth() + 1;
        int blocks = Math.max(2 * chains.width(), Math.min(operators * plan.capacity / plan.batch, LONGEST));
        return new Disruptor<>(
                Event::new, length(blocks), DaemonThreadFactory.INSTANCE, ProducerType.SINGLE, waiting(plan, chains, handlers));
    }

    /**
     * Handlers spin if each, and the source, may have a CPU. Otherwise they sleep at once: to spin would take CPU time from those that have work.
     * With a rate they sleep for a shorter time, as a tuple may wait for the end of a sleep at every stage.
     */
    private static WaitStrategy waiting(Plan plan, Chains chains, Handlers handlers) {
        if (handlers.number() < CPUS) {
            return new YieldingWaitStrategy();
        }
        boolean isPaced = plan.operators.get(chains.source).gapNs() > 0.0;
        return new SleepingWaitStrategy(0, isPaced ? SHORT_SLEEP_NS : SLEEP_NS);
    }

    @Override
    void send(RingBuffer<Event> ring) {
        Tally tally = Run.tally(chains.source);
        if (tally.isPaced()) {
            sendDue(ring, tally);
        } else {
            sendRounds(ring, tally);
        }
    }

    /** At full speed: a block for each chain in turn, with the tuples that take this chain. */
    private void sendRounds(RingBuffer<Event> ring, Tally tally) {
        int width = chains.width();
        while (tally.goesOn(plan.limit)) {
            long begin = tally.executed();
            long end = plan.endOfRound(begin, width);
            for (int chain = 0; chain < width && begin + chain < end; chain++) {
                awaitRoom(ring, 1);
                long at = ring.next();
                Event event = ring.get(at);
                event.block.make(tally, begin + chain, width, end);
                event.chain = chain;
                event.left = false;
                ring.publish(at);
            }
        }
    }

    /** With a rate: tuples take the chains in turn, so that it fills a block for each at once. */
    private void sendDue(RingBuffer<Event> ring, Tally tally) {
        int width = chains.width();
        while (tally.goesOn(plan.limit)) {
            int due = tally.due(plan.batch * width, plan.limit);
            if (due == 0) {
                tally.awaitDue();
                continue;
            }
            int blocks = Math.min(due, width);
            awaitRoom(ring, blocks);
            long end = ring.next(blocks);
            long first = end - blocks + 1;
            for (int i = 0; i < blocks; i++) {
                Event event = ring.get(first + i);
                event.block.count = 0;
                event.chain = (int) ((tally.executed() + i) % width);
                event.left = false;
            }
            for (int i = 0; i < due; i++) {
                ring.get(first + i % blocks).block.add(tally);
            }
            ring.publish(first, end);
        }
    }

    /** Waits until the ring has room. By itself it waits for a nanosecond at a time, which takes CPU time from handlers that share a CPU. */
    private void awaitRoom(RingBuffer<Event> ring, int blocks) {
        while (sharesCpus && !ring.hasAvailableCapacity(blocks)) {
            LockSupport.parkNanos(SLEEP_NS);
        }
    }

    /** It reports each block at once: otherwise those that follow would wait for all blocks that it found. */
    private abstract class Reporting implements EventHandler<Event> {
        private Sequence done;

        abstract void handle(Event event);

        @Override
        public void setSequenceCallback(Sequence sequence) {
            done = sequence;
        }

        @Override
        public void onEvent(Event event, long at, boolean endsBatch) {
            if (event.last) {
                running.countDown();
            } else {
                handle(event);
            }
            done.set(at);
        }
    }

    /** A stage of the operators of every so manieth chain. Each handler sees every event, and leaves alone those of other chains. */
    private final class Steps extends Reporting {
        private final Tally[][] tallies = new Tally[chains.width()][]; // by chain, of its operators here
        private final boolean hasSink;

        Steps(Handlers handlers, int row, int stage) {
            hasSink = !handlers.apart() && stage == handlers.stages() - 1;
            int from = stage * chains.depth() / handlers.stages();
            int to = (stage + 1) * chains.depth() / handlers.stages();
            for (int chain = row; chain < tallies.length; chain += handlers.rows()) {
                int[] operators = chains.chains.get(chain).operators();
                tallies[chain] = Arrays.stream(operators, from, to).mapToObj(Run::tally).toArray(Tally[]::new);
            }
        }

        @Override
        void handle(Event event) {
            if (tallies[event.chain] != null) {
                for (Tally tally : tallies[event.chain]) {
                    step(event, tally);
                }
                if (hasSink) {
                    sink.handle(event);
                }
            }
        }

        private void step(Event event, Tally tally) {
            event.left = event.left || event.block.isLeftBy(tally);
            if (!event.left) {
                tally.work(event.block.value, event.block.count);
                tally.count(event.block.count);
            }
        }
    }

    private final class Sink extends Reporting {
        private final Tally tally = Run.tally(chains.sink);

        @Override
        void handle(Event event) {
            if (!event.left && !event.block.isLeftBy(tally)) {
                event.block.pass(chains.chains.get(event.chain).path());
                event.block.arrive(tally);
            }
        }
    }
}
