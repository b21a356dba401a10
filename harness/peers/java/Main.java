import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;
import millrace.Tuple;

/** A graph in plain Java: a thread an operator, and an ArrayBlockingQueue before each, of tuples or of blocks of them. */
public final class Main extends Threads<Tuple> {
    private static final Tuple FINAL = new Tuple(); // the last thing on a stream

    private Main(Plan plan) {
        super(plan, plan.capacity, FINAL);
    }

    public static void main(String[] words) {
        Run.main(words[0], plan -> plan.batch == 1 ? new Main(plan) : new Blocks(plan));
    }

    @Override
    void send(Plan.Operator operator, Tally tally) throws InterruptedException {
        int turn = 0;
        for (Tuple tuple = tally.send(plan.limit); tuple != null; tuple = tally.send(plan.limit)) {
            pass(tuple, operator.ports().get(turn));
            tally.count();
            turn = turn + 1 == operator.ports().size() ? 0 : turn + 1;
        }
    }

    @Override
    void work(Plan.Operator operator, Tally tally, ArrayBlockingQueue<Tuple> queue, int open) throws InterruptedException {
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

    @Override
    void receive(Tally tally, ArrayBlockingQueue<Tuple> queue, int open) throws InterruptedException {
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
