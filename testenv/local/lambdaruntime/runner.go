package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config is what all functions of a runner share.
type Config struct {
	// Region defaults to us-east-1, AccountID to 123456789012.
	Region    string
	AccountID string
	// EndpointURL is handed to functions as AWS_ENDPOINT_URL; empty leaves it unset.
	EndpointURL string
	// Credentials returns those of a function's role, asked for at each cold start; nil gives every function a fixed pair.
	Credentials func(context.Context, Function) (aws.Credentials, error)
	// AccountConcurrency is shared by the functions that reserve none; 0 means 1000.
	AccountConcurrency int
	// Freeze stops each process between invocations, as the service does.
	Freeze bool
	// IdleTimeout is how long an idle sandbox is kept; 0 means ten minutes.
	IdleTimeout time.Duration
	// InitTimeout bounds the init phase; 0 means ten seconds. Init is then tried once more within the invocation.
	InitTimeout time.Duration

	// The hooks may be nil. They are called from the runner's goroutines and must return soon. OnLog and OnMetric are
	// called one at a time, and must not call Logs or Metrics.
	OnLog    func(LogLine)
	OnMetric func(Metric)
	// OnInvoke is called when a process has been handed an event.
	OnInvoke func(Invocation)
	// OnExit is called once for each process that ended, before the invocation it served returns.
	OnExit func(Exit)
}

// ExitReason says why a process ended.
type ExitReason string

// The reasons of an exit.
const (
	ExitCrashed     ExitReason = "Crashed"     // it ended by itself: exit, panic, or a signal from outside
	ExitTimeout     ExitReason = "Timeout"     // killed at the function's timeout
	ExitInitTimeout ExitReason = "InitTimeout" // killed at the end of the time for init
	ExitOutOfMemory ExitReason = "OutOfMemory" // killed after it used more than the function's memory
	ExitKilled      ExitReason = "Killed"      // killed by Kill
	ExitReaped      ExitReason = "Reaped"      // idle too long, or of a deployment since replaced
	ExitStopped     ExitReason = "Stopped"     // ended by Stop
)

// Exit tells of a process that ended.
type Exit struct {
	Function  string
	SandboxID string
	RequestID string // of the invocation it was serving; empty when it served none
	PID       int
	Reason    ExitReason
	State     string // such as "exit status 1" or "signal: killed"
}

// Invocation is one that is being served by a process.
type Invocation struct {
	Function  string
	RequestID string
	SandboxID string
	PID       int
	Started   time.Time
}

// Runner holds deployed functions and their sandboxes. Its methods may be called from any goroutine.
type Runner struct {
	config   Config
	recorder *recorder
	spawns   chan func()
	stopping chan struct{}
	inFlight sync.WaitGroup // invocations and sandboxes being shut down

	mu          sync.Mutex
	stopped     bool
	deployments map[string]*deployment // keyed by function name
	unreserved  int                    // invocations in flight of functions that reserve no concurrency
}

// deployment is one function as it stands, with its sandboxes.
type deployment struct {
	fn         Function
	generation int
	inFlight   int                 // admitted invocations, cold starts included
	idle       []*sandbox          // least recently used first
	serving    map[string]*sandbox // keyed by request id
	all        map[*sandbox]bool
}

// New returns a runner with no function deployed.
func New(config Config) (*Runner, error) {
	if config.Region == "" {
		config.Region = "us-east-1"
	}
	if config.AccountID == "" {
		config.AccountID = "123456789012"
	}
	if config.AccountConcurrency == 0 {
		config.AccountConcurrency = accountConcurrency
	}
	if config.IdleTimeout == 0 {
		config.IdleTimeout = 10 * time.Minute
	}
	if config.InitTimeout == 0 {
		config.InitTimeout = 10 * time.Second
	}
	if config.AccountConcurrency < 0 || config.IdleTimeout < 0 || config.InitTimeout < 0 {
		return nil, errors.New("configure runner: concurrency and timeouts must not be negative")
	}
	r := &Runner{
		config: config, recorder: newRecorder(config.OnLog, config.OnMetric),
		spawns: make(chan func()), stopping: make(chan struct{}), deployments: map[string]*deployment{},
	}
	go r.spawner()
	return r, nil
}

// spawner starts all processes from one operating system thread that lives as long as the runner: a child's
// parent-death signal is tied to the thread that started it. The thread ends with the goroutine.
func (r *Runner) spawner() {
	runtime.LockOSThread()
	for start := range r.spawns {
		start()
	}
}

func (r *Runner) spawn(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	r.spawns <- func() { done <- cmd.Start() }
	return <-done
}

// Deploy adds a function or replaces the one of that name. Idle sandboxes of the replaced one end now, busy ones after
// their invocation.
func (r *Runner) Deploy(fn Function) error {
	fn = fn.withDefaults()
	if err := fn.validate(); err != nil {
		return fmt.Errorf("deploy function %q: %w", fn.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return fmt.Errorf("deploy function %q: %w", fn.Name, ErrStopped)
	}
	if free := r.unreservedConcurrency(fn); fn.ReservedConcurrency != nil && *fn.ReservedConcurrency > 0 && free < r.minUnreserved() {
		return fmt.Errorf("deploy function %q: reserving %d leaves %d unreserved, less than %d: specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [%d]",
			fn.Name, *fn.ReservedConcurrency, free, r.minUnreserved(), r.minUnreserved())
	}
	d, ok := r.deployments[fn.Name]
	if !ok {
		d = &deployment{serving: map[string]*sandbox{}, all: map[*sandbox]bool{}}
		r.deployments[fn.Name] = d
	}
	d.fn = fn
	d.generation++
	for _, s := range d.idle {
		r.retire(s)
	}
	d.idle = nil
	return nil
}

// Remove takes a function away: it can be invoked no more. Idle sandboxes end now, busy ones after their invocation. It reports whether there was one.
func (r *Runner) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.deployments[name]
	if !ok {
		return false
	}
	d.generation++
	for _, s := range d.idle {
		r.retire(s)
	}
	d.idle = nil
	delete(r.deployments, name)
	return true
}

// unreservedConcurrency is what functions that reserve none share, were fn deployed. The caller holds the lock.
func (r *Runner) unreservedConcurrency(fn Function) int {
	free := r.config.AccountConcurrency
	if fn.ReservedConcurrency != nil {
		free -= *fn.ReservedConcurrency
	}
	for name, d := range r.deployments {
		if name != fn.Name && d.fn.ReservedConcurrency != nil {
			free -= *d.fn.ReservedConcurrency
		}
	}
	return free
}

// Function returns the function deployed under the name, with its defaults filled; false when there is none.
func (r *Runner) Function(name string) (Function, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.deployments[name]
	if !ok {
		return Function{}, false
	}
	return d.fn, true
}

// FunctionARN returns the ARN of the function of that name, deployed or not.
func (r *Runner) FunctionARN(name string) string {
	return "arn:aws:lambda:" + r.config.Region + ":" + r.config.AccountID + ":function:" + name
}

// Region returns the region the functions run in.
func (r *Runner) Region() string { return r.config.Region }

// Logs returns the function's kept log lines, oldest first; the last 5,000 at least are kept.
func (r *Runner) Logs(function string) []LogLine { return r.recorder.linesOf(function) }

// Metrics returns the function's kept metrics, oldest first; the last 5,000 at least are kept.
func (r *Runner) Metrics(function string) []Metric { return r.recorder.metricsOf(function) }

// Running returns the function's invocations being served by a process, oldest first; those still in a cold start are
// not among them.
func (r *Runner) Running(function string) []Invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.deployments[function]
	if !ok {
		return nil
	}
	var running []Invocation
	for _, s := range d.serving {
		if invocation, ok := s.serving(); ok {
			running = append(running, invocation)
		}
	}
	slices.SortFunc(running, func(a, b Invocation) int { return a.Started.Compare(b.Started) })
	return running
}

// Sandboxes returns how many sandboxes of the function are alive, idle and busy.
func (r *Runner) Sandboxes(function string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.deployments[function]
	if !ok {
		return 0
	}
	return len(d.all)
}

// Kill ends the process that serves the invocation, as kill -9 does. It returns false when no process serves it.
func (r *Runner) Kill(requestID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.deployments {
		if s, ok := d.serving[requestID]; ok {
			s.kill(ExitKilled)
			return true
		}
	}
	return false
}

// Stop ends all processes and returns when nothing of the runner is left. Invocations in flight return ErrStopped. It may
// be called twice.
func (r *Runner) Stop() {
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		r.inFlight.Wait()
		return
	}
	r.stopped = true
	close(r.stopping)
	for _, d := range r.deployments {
		for s := range d.all {
			if slices.Contains(d.idle, s) {
				r.end(s, ExitStopped)
			} else {
				s.kill(ExitStopped)
			}
		}
		d.idle = nil
	}
	r.mu.Unlock()
	r.inFlight.Wait()
	close(r.spawns)
}

// minUnreserved is what reservations must leave to all functions: of an account whose quota is smaller than that, its quota, so that nothing
// may be reserved. Lambda has been seen to ask for ten of ten and fifty of fifty.
func (r *Runner) minUnreserved() int { return min(minUnreserved, r.config.AccountConcurrency) }
