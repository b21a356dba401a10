import com.lmax.disruptor.EventHandler;
import com.lmax.disruptor.RingBuffer;
import com.lmax.disruptor.SleepingWaitStrategy;
import com.lmax.disruptor.WaitStrategy;
import com.lmax.disruptor.YieldingWaitStrategy;
import com.lmax.disruptor.dsl.Disruptor;
import com.lmax.disruptor.dsl.ProducerType;
import com.lmax.disruptor.util.DaemonThreadFactory;
import millrace.Block;
import millrace.Chains;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;

/** The chains with blocks of tuples as events: they share what an event costs at each handler. The ring makes blocks once. */
final class Blocks extends Ring<Blocks.Event> {
    static final class Event extends Ring.Event {
        final Block block = new Block(Run.plan.batch, Run.plan.payload);
    }

    Blocks(Plan plan, Chains chains) {
        super(plan, chains, ring(plan, chains));
        connect(Step::new, new Sink());
    }

    /** It holds as many tuples as a queue before each operator would. */
    private static Disruptor<Event> ring(Plan plan, Chains chains) {
        int blocks = Math.max(2 * chains.width(), handlers(chains) * plan.capacity / plan.batch);
        return new Disruptor<>(
                Event::new, length(blocks), DaemonThreadFactory.INSTANCE, ProducerType.SINGLE, waiting(chains));
    }

    /** Handlers spin if each, and the source, may have a CPU. */
    private static WaitStrategy waiting(Chains chains) {
        boolean enough = handlers(chains) < Runtime.getRuntime().availableProcessors();
        return enough ? new YieldingWaitStrategy() : new SleepingWaitStrategy();
    }

    /** Tuples take the chains in turn, so that it fills a block for each at once. */
    @Override
    void send(RingBuffer<Event> ring) {
        Tally tally = Run.tally(chains.source);
        int width = chains.width();
        while (tally.goesOn(plan.limit)) {
            int due = tally.due(plan.batch * width, plan.limit);
            if (due == 0) {
                tally.awaitDue();
                continue;
            }
            int blocks = Math.min(due, width);
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

    /** One operator of one chain. Every handler sees every event, and leaves alone those of other chains. */
    private final class Step implements EventHandler<Event> {
        private final int chain;
        private final Tally tally;

        Step(int chain, int step) {
            this.chain = chain;
            tally = Run.tally(chains.chains.get(chain).operators()[step]);
        }

        @Override
        public void onEvent(Event event, long at, boolean endsBatch) {
            if (event.last) {
                running.countDown();
            } else if (event.chain == chain && !event.left) {
                event.left = event.block.isLeftBy(tally);
                if (!event.left) {
                    tally.work(event.block.value, event.block.count);
                    tally.count(event.block.count);
                }
            }
        }
    }

    private final class Sink implements EventHandler<Event> {
        private final Tally tally = Run.tally(chains.sink);

        @Override
        public void onEvent(Event event, long at, boolean endsBatch) {
            if (event.last) {
                running.countDown();
            } else if (!event.left && !event.block.isLeftBy(tally)) {
                event.block.pass(chains.chains.get(event.chain).path());
                event.block.arrive(tally);
            }
        }
    }
}
