import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import millrace.Block;
import millrace.Plan;
import millrace.Tally;

/**
 * The graph with blocks of tuples in its queues: they share a queue's lock. A block is arrays of primitives, and a sink gives it back, so that
 * nothing is left for the garbage collector.
 */
final class Blocks extends Threads<Block> {
    private static final int SPARE = 4096;
    /** How often a thread lets others run before it waits: threads are more than CPUs, and to be woken costs more. */
    private static final int YIELDS = 16;

    private static final int LONGEST = 64; // blocks in a queue,
    private static final int MOST_BYTES = 4 << 20; // and of their payloads
    private static final Block LAST = new Block(0, 0); // the last thing on a stream

    private final ArrayBlockingQueue<Block> spare = new ArrayBlockingQueue<>(SPARE);

    Blocks(Plan plan) {
        super(plan, blocks(plan), LAST);
    }

    private static int blocks(Plan plan) {
        int fitting = MOST_BYTES / Math.max(1, plan.batch * plan.payload);
        return Math.max(1, Math.min(plan.capacity / plan.batch, Math.min(LONGEST, fitting)));
    }

    @Override
    public int capacity() {
        return blocks(plan) * plan.batch;
    }

    @Override
    void send(Plan.Operator operator, Tally tally) throws InterruptedException {
        if (tally.isPaced()) {
            sendDue(operator, tally);
            return;
        }
        List<List<Plan.Stream>> ports = operator.ports();
        while (tally.goesOn(plan.limit)) { // a block for each port in turn, with the tuples that take this port
            long first = tally.executed();
            long end = plan.endOfRound(first, ports.size());
            for (int port = 0; port < ports.size() && first + port < end; port++) {
                Block block = take();
                block.make(tally, first + port, ports.size(), end);
                pass(block, ports.get(port));
            }
        }
    }

    private void sendDue(Plan.Operator operator, Tally tally) throws InterruptedException {
        Filling out = new Filling(operator.ports());
        while (tally.goesOn(plan.limit)) {
            if (!tally.isDue()) {
                out.flushAll();
                tally.awaitDue();
                continue;
            }
            out.open().add(tally);
            out.next();
        }
        out.flushAll();
    }

    @Override
    void work(Plan.Operator operator, Tally tally, ArrayBlockingQueue<Block> queue, int open) throws InterruptedException {
        Filling out = new Filling(operator.ports());
        ArrayDeque<Block> got = new ArrayDeque<>();
        while (open > 0) {
            if (got.isEmpty()) {
                if (out.ports.size() > 1 && queue.isEmpty()) {
                    out.flushAll();
                }
                fetch(queue, got);
            }
            Block block = got.remove();
            if (block == LAST) {
                open--;
                continue;
            }
            if (block.isLeftBy(tally)) {
                continue;
            }
            tally.work(block.value, block.count);
            tally.count(block.count);
            if (out.ports.size() == 1) {
                pass(block, out.ports.get(0));
                continue;
            }
            for (int i = 0; i < block.count; i++) {
                out.open().add(block, i, 1);
                out.next();
            }
            giveBack(block);
        }
        out.flushAll();
    }

    @Override
    void receive(Tally tally, ArrayBlockingQueue<Block> queue, int open) throws InterruptedException {
        ArrayDeque<Block> got = new ArrayDeque<>();
        while (open > 0) {
            if (got.isEmpty()) {
                fetch(queue, got);
            }
            Block block = got.remove();
            if (block == LAST) {
                open--;
            } else if (!block.isLeftBy(tally)) {
                block.arrive(tally);
                giveBack(block);
            }
        }
    }

    /** Waits for a block, and takes all that there are: a sender that waits for room then has it for many. */
    private static void fetch(ArrayBlockingQueue<Block> queue, ArrayDeque<Block> got) throws InterruptedException {
        for (int i = 0; i < YIELDS; i++) {
            if (queue.drainTo(got) > 0) {
                return;
            }
            Thread.yield();
        }
        got.add(queue.take());
        queue.drainTo(got);
    }

    private static void put(ArrayBlockingQueue<Block> queue, Block block) throws InterruptedException {
        for (int i = 0; i < YIELDS; i++) {
            if (queue.offer(block)) {
                return;
            }
            Thread.yield();
        }
        queue.put(block);
    }

    private Block take() {
        Block block = spare.poll();
        if (block == null) {
            return new Block(plan.batch, plan.payload);
        }
        block.count = 0;
        return block;
    }

    private void giveBack(Block block) {
        spare.offer(block);
    }

    /** Hands a block to every stream of a port: a copy to each but the first. */
    private void pass(Block block, List<Plan.Stream> streams) throws InterruptedException {
        for (int i = streams.size() - 1; i > 0; i--) {
            Block copy = take();
            copy.add(block, 0, block.count);
            hand(copy, streams.get(i));
        }
        hand(block, streams.get(0));
    }

    private void hand(Block block, Plan.Stream stream) throws InterruptedException {
        block.pass(stream.step());
        put(queues.get(stream.target()), block);
    }

    /** The blocks that an operator fills: one for each output port, as tuples take the ports in turn. */
    private final class Filling {
        final List<List<Plan.Stream>> ports;
        private final Block[] open;
        private int turn;

        Filling(List<List<Plan.Stream>> ports) {
            this.ports = ports;
            open = new Block[ports.size()];
            for (int port = 0; port < open.length; port++) {
                open[port] = take();
            }
        }

        Block open() {
            return open[turn];
        }

        /** A tuple was added: the next one takes the next port. */
        void next() throws InterruptedException {
            if (open[turn].count == plan.batch) {
                flush(turn);
            }
            turn = turn + 1 == open.length ? 0 : turn + 1;
        }

        /** Blocks that are not full do not wait while the operator does. */
        void flushAll() throws InterruptedException {
            for (int port = 0; port < open.length; port++) {
                if (open[port].count > 0) {
                    flush(port);
                }
            }
        }

        private void flush(int port) throws InterruptedException {
            Block full = open[port];
            open[port] = take();
            pass(full, ports.get(port));
        }
    }
}
