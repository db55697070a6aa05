package cost

import (
	"context"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Usage is what is billed by use, of some span of time. Everything but Functions is of the whole installation.
type Usage struct {
	Functions map[string]Function // by id in the template
	Stored    map[string]Stored   // what was put into the bucket, by the first part of its key

	Ticks         float64 // events of the rule of each minute
	Queued        float64 // requests to standard queues, by 64 KB, but what pollers ask without effect
	QueuedInOrder float64 // the same to FIFO queues
	ReadUnits     float64 // of DynamoDB
	WriteUnits    float64
	TableBytes    float64 // at the end
	Puts          float64 // of S3: PUT, COPY, POST, LIST
	Gets          float64 // GET and all others
	PutBytes      float64 // that were stored
	LogBytes      float64 // that functions wrote

	Failed float64 // invocations that were without effect; 0 where nothing goes wrong
}

// Function is the work of one function.
type Function struct {
	Invocations float64
	Millis      float64 // billed
}

// Stored is what was put of one kind of object.
type Stored struct {
	Objects float64
	Bytes   float64
}

// Times returns the use of so many times the span.
func (u Usage) Times(n float64) Usage {
	out := Usage{
		Ticks: u.Ticks * n, Queued: u.Queued * n, QueuedInOrder: u.QueuedInOrder * n, ReadUnits: u.ReadUnits * n, WriteUnits: u.WriteUnits * n, TableBytes: u.TableBytes,
		Puts: u.Puts * n, Gets: u.Gets * n, PutBytes: u.PutBytes * n, LogBytes: u.LogBytes * n, Failed: u.Failed * n, Functions: map[string]Function{}, Stored: map[string]Stored{},
	}
	for kind, s := range u.Stored {
		out.Stored[kind] = Stored{s.Objects * n, s.Bytes * n}
	}
	for name, f := range u.Functions {
		out.Functions[name] = Function{f.Invocations * n, f.Millis * n}
	}
	return out
}

// plus adds what was used meanwhile. TableBytes are those of the later one.
func (u Usage) plus(o Usage) Usage {
	out := Usage{
		Ticks: u.Ticks + o.Ticks, Queued: u.Queued + o.Queued, QueuedInOrder: u.QueuedInOrder + o.QueuedInOrder, ReadUnits: u.ReadUnits + o.ReadUnits, WriteUnits: u.WriteUnits + o.WriteUnits,
		TableBytes: o.TableBytes, Puts: u.Puts + o.Puts, Gets: u.Gets + o.Gets, PutBytes: u.PutBytes + o.PutBytes, LogBytes: u.LogBytes + o.LogBytes,
		Failed: u.Failed + o.Failed, Functions: map[string]Function{}, Stored: map[string]Stored{},
	}
	for _, of := range []Usage{u, o} {
		for kind, s := range of.Stored {
			sum := out.Stored[kind]
			out.Stored[kind] = Stored{sum.Objects + s.Objects, sum.Bytes + s.Bytes}
		}
		for name, f := range of.Functions {
			sum := out.Functions[name]
			out.Functions[name] = Function{sum.Invocations + f.Invocations, sum.Millis + f.Millis}
		}
	}
	return out
}

// Since returns what was used since an earlier reading of the same meter.
func (u Usage) Since(before Usage) Usage {
	out := u.plus(before.Times(-1))
	out.TableBytes = u.TableBytes
	return out
}

// How long an invocation takes, as if it made its calls one after the other: an upper bound, since it makes many side by side.
var (
	callMillis = map[string]float64{"dynamodb": 5, "s3": 20, "sqs": 10} // medians as AWS's own guides and users give them, rounded up
	portMillis = map[string]float64{"cluster": 10, "site": 0, "fleet": 100, "fleet.launch": 1500, "fleet.template": 150, "catalog": 100, "profiles": 100}
	// workMillis is the CPU time of one invocation at the function's memory. A run of this package takes 2 ms for each invocation of an idle
	// cluster and 14 ms of one of 100 nodes, on one core, the models of AWS and of the cluster included.
	workMillis = 15.0
)

// platformLogBytes is what Lambda itself writes to the log for an invocation: START, END and REPORT. Source: Lambda developer guide, "Working
// with function logs in plaintext", its example.
const platformLogBytes = 330

// sqsChunkBytes is what counts as one request of SQS. Source: SQS pricing.
const sqsChunkBytes = 64 << 10

// meter counts what an account uses.
type meter struct {
	mu     sync.Mutex
	used   Usage
	table  *dynamodb.Model
	before dynamodb.Usage // of making the table and attaching the cluster
	millis float64        // of the invocation under way
	errors []string
}

// begin counts from now on.
func (m *meter) begin(a *Account) {
	m.table, m.before, m.used.Functions = a.table, a.table.Usage(), map[string]Function{}
	a.cloud.Watch(m.request)
}

// request counts one request that was answered.
func (m *meter) request(r cloud.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.millis += callMillis[r.Service]
	switch r.Service {
	case "s3":
		switch r.Action {
		case "PutObject", "CopyObject", "ListObjectsV2":
			m.used.Puts++
			m.used.PutBytes += float64(r.RequestBytes)
		case "DeleteObject", "DeleteObjects":
		default:
			m.used.Gets++
		}
	}
}

// stored counts an object of the bucket.
func (m *meter) stored(key string, bytes int64) {
	kind, _, _ := strings.Cut(key, "/")
	m.add(Usage{Stored: map[string]Stored{kind: {1, float64(bytes)}}})
}

// queued counts a request to a queue, by the larger of what was sent and what came back.
func (m *meter) queued(inOrder bool, bytes int) {
	requests := float64(max(1, (bytes+sqsChunkBytes-1)/sqsChunkBytes))
	if inOrder {
		m.add(Usage{QueuedInOrder: requests})
		return
	}
	m.add(Usage{Queued: requests})
}

func (m *meter) add(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = m.used.plus(u)
}

// invocation begins one and returns what ends it, with how much it logged itself.
func (m *meter) invocation(function string) (end func(logBytes int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.millis = workMillis
	return func(logBytes int64) {
		m.mu.Lock()
		took := m.millis
		m.mu.Unlock()
		m.add(Usage{LogBytes: float64(logBytes) + platformLogBytes, Functions: map[string]Function{function: {Invocations: 1, Millis: took}}})
	}
}

// failed counts an invocation whose batch comes again.
func (m *meter) failed(function string, err error) {
	m.add(Usage{Failed: 1})
	if len(m.errors) < 10 {
		m.errors = append(m.errors, function+": "+err.Error())
	}
}

// Usage returns what was used since the installation was made.
func (a *Account) Usage() Usage {
	a.meter.mu.Lock()
	defer a.meter.mu.Unlock()
	out := a.meter.used.Times(1)
	table := a.table.Usage()
	out.ReadUnits, out.WriteUnits = table.ReadUnits-a.meter.before.ReadUnits, table.WriteUnits-a.meter.before.WriteUnits
	out.TableBytes = float64(a.table.SizeBytes())
	return out
}

// Errors returns what the first invocations that failed said.
func (a *Account) Errors() []string { return a.meter.errors }

// Nodes returns how many nodes of ours the cluster has.
func (a *Account) Nodes() int {
	n := 0
	for _, node := range a.world.Cluster.Nodes() {
		if node.Finalizer {
			n++
		}
	}
	return n
}

// gate lets every operation of the world through and counts how long it would take.
type gate struct{ meter *meter }

// Pass carries out act.
func (g gate) Pass(_ context.Context, op world.Op, act func() error) error {
	took, known := portMillis[op.Name]
	if !known {
		took = portMillis[portOf(op.Name)]
	}
	g.meter.mu.Lock()
	g.meter.millis += took
	g.meter.mu.Unlock()
	return act()
}

func portOf(op string) string {
	for i := range len(op) {
		if op[i] == '.' {
			return op[:i]
		}
	}
	return op
}
