package main

import (
	"math"
	"sync"
)

// Tuples that travel together: a channel costs a lock and maybe a switch, which they share. An array for each field, so
// that an operator touches no more than the values. Who has a block owns it; a sink gives it back to the pool, so that
// nothing is left for the garbage collector.
type block struct {
	count     int
	sequences []uint64
	born      []int64
	values    []float64
	paths     []uint32
	payloads  []byte
}

var pool = sync.Pool{New: func() any {
	return &block{
		sequences: make([]uint64, batchTuples),
		born:      make([]int64, batchTuples),
		values:    make([]float64, batchTuples),
		paths:     make([]uint32, batchTuples),
		payloads:  make([]byte, batchTuples*payloadBytes),
	}
}}

func newBlock() *block {
	b := pool.Get().(*block)
	b.count = 0
	return b
}

func (b *block) payload(i int) []byte { return b.payloads[i*payloadBytes : (i+1)*payloadBytes] }

// Adds a tuple, whose payload is still to be filled.
func (b *block) add(h header) []byte {
	i := b.count
	b.sequences[i], b.born[i], b.values[i], b.paths[i] = h.sequence, h.born, h.value, h.path
	b.count++
	return b.payload(i)
}

// Adds tuple i of another block.
func (b *block) addOf(from *block, i int) {
	copy(b.add(header{from.sequences[i], from.born[i], from.values[i], from.paths[i]}), from.payload(i))
}

func (b *block) copy() *block {
	n, other := b.count, newBlock()
	other.count = n
	copy(other.sequences, b.sequences[:n])
	copy(other.born, b.born[:n])
	copy(other.values, b.values[:n])
	copy(other.paths, b.paths[:n])
	copy(other.payloads, b.payloads[:n*payloadBytes])
	return other
}

// Makes the tuples of a source with the numbers `first`, and every so many after it, below `end`. Returns the sum of
// their fingerprints.
func (b *block) make(first, every, end int64) uint64 {
	b.count = int((end - first + every - 1) / every)
	sequences, born, values, paths := b.sequences[:b.count], b.born[:b.count], b.values[:b.count], b.paths[:b.count]
	payloads, sum, sequence := b.payloads, uint64(0), uint64(first)
	for i := range sequences {
		sequences[i], born[i], values[i], paths[i] = sequence, 0, valueOf(sequence), 0
		if sequence%sampled == 0 {
			born[i] = now()
		}
		sum += fingerprint(sequence)
		fill(payloads[:payloadBytes], sequence)
		payloads = payloads[payloadBytes:]
		sequence += uint64(every)
	}
	return sum
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

func (f *filling) addOf(from *block, i int) { f.open[f.turn].addOf(from, i) }

// The tuple is whole: the next one takes the next port.
func (f *filling) next() {
	if f.open[f.turn].count == batchTuples {
		f.flush(f.turn)
	}
	if f.turn++; f.turn == len(f.open) {
		f.turn = 0
	}
}

func (f *filling) flush(port int) {
	if b := f.open[port]; b.count > 0 {
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

// Hands a block to every stream of a port: a copy to each but the last.
func (op *operator) pass(b *block, port int) {
	streams := op.ports[port]
	for _, to := range streams[:len(streams)-1] {
		to.hand(b.copy())
	}
	streams[len(streams)-1].hand(b)
}

func (to stream) hand(b *block) {
	if to.step > 0 {
		paths := b.paths[:b.count]
		for i := range paths {
			paths[i] += to.step
		}
	}
	to.target.blocks <- b
}

func (op *operator) sendBlocks(limit int64) {
	if op.gap > 0 {
		op.sendDue(limit)
	} else {
		op.sendRounds(limit)
	}
	op.endStreams()
}

func (op *operator) sendDue(limit int64) {
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
	out.flushAll()
}

// At full speed: a block for each port in turn, with the tuples that take this port.
func (op *operator) sendRounds(limit int64) {
	ports, n := int64(len(op.ports)), int64(0)
	for n != limit && !stopping.Load() {
		first, end := n, n+ports*int64(batchTuples)
		if limit >= 0 {
			end = min(end, limit)
		}
		for port := int64(0); port < min(ports, end-first); port++ {
			b := newBlock()
			op.sum += b.make(first+port, ports, end)
			n += int64(b.count)
			op.executed.Store(n)
			op.pass(b, int(port))
		}
	}
}

// Leaves the tuples of a run that is cut short; any other block is executed.
func (op *operator) executes(b *block) bool {
	if !cut.Load() {
		return true
	}
	for _, sequence := range b.sequences[:b.count] {
		op.leave(sequence)
	}
	return false
}

func (op *operator) workOnBlocks() {
	out, n := op.filling(), int64(0)
	for {
		if len(op.blocks) == 0 {
			out.flushAll()
		}
		b, more := <-op.blocks
		if !more {
			break
		}
		if !op.executes(b) {
			continue
		}
		op.execute(b.values[:b.count])
		n += int64(b.count)
		op.executed.Store(n)
		if len(op.ports) == 1 {
			op.pass(b, 0)
			continue
		}
		for i := 0; i < b.count; i++ {
			out.addOf(b, i)
			out.next()
		}
		pool.Put(b)
	}
	out.flushAll()
	op.endStreams()
}

func (op *operator) execute(values []float64) {
	by := factor
	switch {
	case op.busy > 0:
		for range values {
			beBusy(op.busy)
		}
	case op.cost == 1: // without an inner loop, which would take longer than the multiply
		for ; len(values) >= 4; values = values[4:] {
			values[0] *= by
			values[1] *= by
			values[2] *= by
			values[3] *= by
		}
		for i := range values {
			values[i] *= by
		}
	case op.cost < serialFlop:
		for i := range values {
			values[i] = multiply(values[i], by, op.cost)
		}
	default:
		before, nothing := by, by-by
		for i := range values {
			// adds nothing to a value, but not before the value before it is known
			before = multiply(math.FMA(before, nothing, values[i]), by, op.cost)
			values[i] = before
		}
	}
}

func (op *operator) receiveBlocks() {
	n := int64(0)
	for b := range op.blocks {
		if !op.executes(b) {
			continue
		}
		op.arrive(b)
		n += int64(b.count)
		op.executed.Store(n)
		pool.Put(b)
	}
}

// A block at a sink.
func (op *operator) arrive(b *block) {
	sequences, born, values, paths := b.sequences[:b.count], b.born[:b.count], b.values[:b.count], b.paths[:b.count]
	payloads, next, sum := b.payloads, op.next, uint64(0)
	for i, sequence := range sequences {
		mixed := fingerprint(sequence)
		sum += mixed
		if values[i] != valueOf(sequence) || !intact(payloads[:payloadBytes], sequence, mixed) {
			op.harmed++
		}
		payloads = payloads[payloadBytes:]
		if born[i] > 0 {
			op.observe(now() - born[i])
		}
		for int(paths[i]) >= len(next) {
			next = append(next, 0)
		}
		if sequence < next[paths[i]] {
			op.outOfOrder++
		}
		next[paths[i]] = sequence + 1
	}
	op.next = next
	op.sum += sum
}
