package main

// A tuple that travels by itself: by value, with a payload that its source allocates.
type tuple struct {
	header
	payload []byte
	// So that it fills a cache line of a channel: with 56 bytes a hand-over at 30 to 150 FLOP takes 15 to 25 ns more.
	_ uint64
}

func (op *operator) source(limit int64) {
	turn, n := 0, int64(0)
	for ; n != limit && !stopping.Load(); n++ {
		t := tuple{header: op.make(n, func() { op.executed.Store(n) }), payload: make([]byte, payloadBytes)}
		fill(t.payload, t.sequence)
		if n%published == 0 || len(op.ports[turn][0].target.in) == cap(op.ports[turn][0].target.in) {
			op.executed.Store(n) // also before it may have to wait
		}
		op.send(&t, turn)
		if turn++; turn == len(op.ports) {
			turn = 0
		}
	}
	op.executed.Store(n)
	op.endStreams()
}

func (op *operator) work() {
	turn, n, by := 0, int64(0), factor
	for t := range op.in {
		if cut.Load() {
			op.leave(t.sequence)
			continue
		}
		if op.busy > 0 {
			beBusy(op.busy)
		} else {
			t.value = multiply(t.value, by, op.cost)
		}
		op.send(&t, turn)
		if turn++; turn == len(op.ports) {
			turn = 0
		}
		if n++; n%published == 0 || len(op.in) == 0 {
			op.executed.Store(n)
		}
	}
	op.executed.Store(n)
	op.endStreams()
}

func (op *operator) sink() {
	n := int64(0)
	for t := range op.in {
		if cut.Load() {
			op.leave(t.sequence)
			continue
		}
		op.receive(&t.header, t.payload)
		if n++; n%published == 0 || len(op.in) == 0 {
			op.executed.Store(n)
		}
	}
	op.executed.Store(n)
}

func (op *operator) send(t *tuple, port int) {
	path := t.path
	for _, to := range op.ports[port] {
		t.path = path + to.step
		to.target.in <- *t
	}
}
