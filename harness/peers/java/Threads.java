import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import millrace.Plan;
import millrace.Run;
import millrace.Tally;

/** A thread an operator, and a queue of T before each; `last` is the last thing on a stream. */
abstract class Threads<T> implements Run.Engine {
    final Plan plan;
    final List<ArrayBlockingQueue<T>> queues;
    private final T last;
    private final CountDownLatch running;

    Threads(Plan plan, int capacity, T last) {
        this.plan = plan;
        this.last = last;
        this.queues = plan.operators.stream().map(operator -> new ArrayBlockingQueue<T>(capacity)).toList();
        this.running = new CountDownLatch(plan.operators.size());
    }

    abstract void send(Plan.Operator operator, Tally tally) throws InterruptedException;

    /** Works until `last` has come on as many streams as are `open`. */
    abstract void work(Plan.Operator operator, Tally tally, ArrayBlockingQueue<T> queue, int open) throws InterruptedException;

    abstract void receive(Tally tally, ArrayBlockingQueue<T> queue, int open) throws InterruptedException;

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
        Tally tally = Run.tally(number);
        try {
            switch (operator.kind()) {
                case "source" -> send(operator, tally);
                case "sink" -> receive(tally, queues.get(number), plan.arriving.get(number));
                default -> work(operator, tally, queues.get(number), plan.arriving.get(number));
            }
            for (List<Plan.Stream> port : operator.ports()) {
                for (Plan.Stream stream : port) {
                    queues.get(stream.target()).put(last);
                }
            }
        } catch (Throwable problem) {
            Run.fail(problem);
        }
        running.countDown();
    }
}
