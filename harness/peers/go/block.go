package main

import (
	"math"
	"sync"
)

// Tuples that travel together: a channel costs a lock and maybe a switch, which they share. Who has a block owns it; a
// sink gives it back to the pool, so that nothing is left for the garbage collector.
type block struct {
	headers  []header
	payloads []byte
}

var pool = sync.Pool{New: func() any {
	return &block{make([]header, 0, batchTuples), make([]byte, batchTuples*payloadBytes)}
}}

func newBlock() *block {
	b := pool.Get().(*block)
	b.headers = b.headers[:0]
	return b
}

func (b *block) payload(i int) []byte { return b.payloads[i*payloadBytes : (i+1)*payloadBytes] }

// Takes the place for one more tuple.
func (b *block) add(h header) []byte {
	b.headers = append(b.headers, h)
	return b.payload(len(b.headers) - 1)
}

// The blocks that an operator fills: one for each output port, as tuples take the ports in turn.
type filling struct {
	op   *operator
	open []*block
	turn int
}

func (op *operator) filling() *filling {
	f := &filling{op: op, open: make([]*block, len(op.ports))}
	for i := range f.open {
		f.open[i] = newBlock()
	}
	return f
}

func (f *filling) add(h header) []byte { return f.open[f.turn].add(h) }

// The tuple is whole: the next one takes the next port.
func (f *filling) next() {
	if len(f.open[f.turn].headers) == batchTuples {
		f.flush(f.turn)
	}
	if f.turn++; f.turn == len(f.open) {
		f.turn = 0
	}
}

func (f *filling) flush(port int) {
	if b := f.open[port]; len(b.headers) > 0 {
		f.open[port] = newBlock()
		f.op.pass(b, port)
	}
}

// Blocks that are not full do not wait while the operator does.
func (f *filling) flushAll() {
	for port := range f.open {
		f.flush(port)
	}
}

func (f *filling) close() {
	f.flushAll()
	for _, port := range f.op.ports {
		for _, to := range port {
			to.target.blocks <- nil
		}
	}
}

// Hands a block to every stream of a port: a copy to each but the last.
func (op *operator) pass(b *block, port int) {
	streams := op.ports[port]
	for _, to := range streams[:len(streams)-1] {
		other := newBlock()
		other.headers = append(other.headers, b.headers...)
		copy(other.payloads, b.payloads[:len(b.headers)*payloadBytes])
		to.hand(other)
	}
	streams[len(streams)-1].hand(b)
}

func (to stream) hand(b *block) {
	if to.step > 0 {
		for i := range b.headers {
			b.headers[i].path += to.step
		}
	}
	to.target.blocks <- b
}

func (op *operator) sendBlocks(limit int64) {
	out, n := op.filling(), int64(0)
	for ; n != limit && !stopping.Load(); n++ {
		h := op.make(n, func() {
			op.executed.Store(n)
			out.flushAll()
		})
		fill(out.add(h), h.sequence)
		out.next()
		if n%published == 0 {
			op.executed.Store(n)
		}
	}
	op.executed.Store(n)
	out.close()
}

// Counts the end of a stream, and leaves the tuples of a run that is cut short; any other block is executed.
func (op *operator) executes(b *block) bool {
	if b == nil {
		op.open--
		return false
	}
	if !cut.Load() {
		return true
	}
	for _, h := range b.headers {
		op.leave(h.sequence)
	}
	return false
}

func (op *operator) workOnBlocks() {
	out, n := op.filling(), int64(0)
	for op.open > 0 {
		if len(op.blocks) == 0 {
			out.flushAll()
		}
		b := <-op.blocks
		if !op.executes(b) {
			continue
		}
		op.execute(b.headers)
		n += int64(len(b.headers))
		op.executed.Store(n)
		if len(op.ports) == 1 {
			op.pass(b, 0)
			continue
		}
		for i, h := range b.headers {
			copy(out.add(h), b.payload(i))
			out.next()
		}
		pool.Put(b)
	}
	out.close()
}

func (op *operator) execute(headers []header) {
	by := factor
	switch {
	case op.busy > 0:
		for range headers {
			beBusy(op.busy)
		}
	case op.cost == 1: // without an inner loop, which would take longer than the multiply
		for i := range headers {
			headers[i].value *= by
		}
	case op.cost < serialFlop:
		for i := range headers {
			headers[i].value = multiply(headers[i].value, by, op.cost)
		}
	default:
		before, nothing := by, by-by
		for i := range headers {
			// adds nothing to a value, but not before the value before it is known
			before = multiply(math.FMA(before, nothing, headers[i].value), by, op.cost)
			headers[i].value = before
		}
	}
}

func (op *operator) receiveBlocks() {
	n := int64(0)
	for op.open > 0 {
		b := <-op.blocks
		if !op.executes(b) {
			continue
		}
		for i := range b.headers {
			op.receive(&b.headers[i], b.payload(i))
		}
		n += int64(len(b.headers))
		op.executed.Store(n)
		pool.Put(b)
	}
}
