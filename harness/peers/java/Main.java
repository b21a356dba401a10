import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/** A graph in plain Java: a thread an operator, and an ArrayBlockingQueue before each, of tuples or of blocks of them. */
public final class Main implements Run.Engine {
    private static final Tuple FINAL = new Tuple(); // the last thing on a stream

    private final Plan plan;
    private final List<ArrayBlockingQueue<Tuple>> queues;
    private final CountDownLatch running;

    private Main(Plan plan) {
        this.plan = plan;
        this.queues = plan.operators.stream().map(operator -> new ArrayBlockingQueue<Tuple>(plan.capacity)).toList();
        this.running = new CountDownLatch(plan.operators.size());
    }

    public static void main(String[] words) {
        Run.main(words[0], plan -> plan.batch == 1 ? new Main(plan) : new Blocks(plan));
    }

    @Override
    public int threads() {
        return plan.operators.size();
    }

    @Override
    public void start() {
        for (int i = 0; i < plan.operators.size(); i++) {
            int operator = i;
            Thread thread = new Thread(() -> execute(operator), "operator " + i);
            thread.setDaemon(true);
            thread.start();
        }
    }

    @Override
    public boolean await(long ms) throws InterruptedException {
        return running.await(ms, TimeUnit.MILLISECONDS);
    }

    private void execute(int number) {
        Plan.Operator operator = plan.operators.get(number);
        try {
            switch (operator.kind()) {
                case "source" -> send(operator, Run.tally(number));
                case "sink" -> receive(Run.tally(number), queues.get(number), plan.arriving.get(number));
                default -> work(operator, Run.tally(number), queues.get(number), plan.arriving.get(number));
            }
            for (List<Plan.Stream> port : operator.ports()) {
                for (Plan.Stream stream : port) {
                    queues.get(stream.target()).put(FINAL);
                }
            }
        } catch (Throwable problem) {
            Run.fail(problem);
        }
        running.countDown();
    }

    private void send(Plan.Operator operator, Tally tally) throws InterruptedException {
        int turn = 0;
        for (Tuple tuple = tally.send(plan.limit); tuple != null; tuple = tally.send(plan.limit)) {
            pass(tuple, operator.ports().get(turn));
            tally.count();
            turn = turn + 1 == operator.ports().size() ? 0 : turn + 1;
        }
    }

    private void work(Plan.Operator operator, Tally tally, ArrayBlockingQueue<Tuple> queue, int open) throws InterruptedException {
        int turn = 0;
        while (open > 0) {
            Tuple tuple = queue.take();
            if (tuple == FINAL) {
                open--;
            } else if (!tally.leaves(tuple.sequence)) {
                tuple.value = tally.work(tuple.value);
                pass(tuple, operator.ports().get(turn));
                tally.count();
                turn = turn + 1 == operator.ports().size() ? 0 : turn + 1;
            }
        }
    }

    private void receive(Tally tally, ArrayBlockingQueue<Tuple> queue, int open) throws InterruptedException {
        while (open > 0) {
            Tuple tuple = queue.take();
            if (tuple == FINAL) {
                open--;
            } else {
                tally.receive(tuple.sequence, tuple.born, tuple.value, tuple.path, tuple.payload);
            }
        }
    }

    /** A tuple belongs to whoever has it, so that where several get it each but the last gets a copy. */
    private void pass(Tuple tuple, List<Plan.Stream> streams) throws InterruptedException {
        int path = tuple.path;
        for (int i = streams.size() - 1; i > 0; i--) {
            Plan.Stream stream = streams.get(i);
            queues.get(stream.target())
                    .put(new Tuple(tuple.sequence, tuple.born, tuple.value, path + stream.step(), tuple.payload));
        }
        tuple.path = path + streams.get(0).step();
        queues.get(streams.get(0).target()).put(tuple);
    }
}
