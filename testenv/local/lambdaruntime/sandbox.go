package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// terminationGrace is what a process that registered an extension gets between SIGTERM and SIGKILL.
const terminationGrace = 500 * time.Millisecond

// sandbox is one execution environment: a process, its Runtime API server, its log and its private folder for
// temporary files. It serves one invocation at a time and ends with its process.
type sandbox struct {
	id         string
	fn         Function
	generation int // of the deployment it was started from
	paths      sandboxPaths
	cmd        *exec.Cmd
	server     *http.Server
	listener   net.Listener
	logs       *logPipe
	recorder   *recorder
	onExit     func(*sandbox, Exit)

	deliveries chan *invocation // taken by the process's request for the next event
	idle       chan struct{}    // one token each time the process asks for the next event
	exited     chan struct{}    // closed when the process is gone and its log is complete

	mu         sync.Mutex
	current    *invocation // nil between invocations
	frozen     bool
	gone       bool
	sigterm    bool // an extension was registered: the process wants SIGTERM before SIGKILL
	reason     ExitReason
	initError  []byte // what the process posted to init/error
	peakMemory int64  // bytes
	exitState  string // as the operating system tells it, such as "exit status 1" or "signal: killed"

	idleTimer *time.Timer // guarded by the runner's lock
}

type sandboxPaths struct {
	runtimeAPI string // host:port
	tmp        string
	logStream  string
}

// startSandbox starts the process. The caller registers the sandbox and then calls run.
func (r *Runner) startSandbox(fn Function, generation int) (*sandbox, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the runtime API: %w", err)
	}
	tmp, err := os.MkdirTemp("", "lambda-"+fn.Name+"-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make private folder: %w", err), listener.Close())
	}
	id := uuid.NewString()
	s := &sandbox{
		id: id, fn: fn, generation: generation, recorder: r.recorder, listener: listener, onExit: r.sandboxExited,
		paths: sandboxPaths{
			runtimeAPI: listener.Addr().String(), tmp: tmp,
			logStream: time.Now().UTC().Format("2006/01/02") + "/[$LATEST]" + id,
		},
		deliveries: make(chan *invocation), idle: make(chan struct{}, 1), exited: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s.api()}
	if err := s.startProcess(r); err != nil {
		return nil, errors.Join(err, listener.Close(), os.RemoveAll(tmp))
	}
	return s, nil
}

// run serves the process's requests and waits for its end, both in the background.
func (s *sandbox) run() {
	go s.server.Serve(s.listener) // ends with server.Close in wait
	go s.wait()
}

func (s *sandbox) startProcess(r *Runner) error {
	env, err := r.environment(context.Background(), s.fn, s.paths)
	if err != nil {
		return err
	}
	s.logs, err = newLogPipe(s.logProcessLine)
	if err != nil {
		return err
	}
	s.log("", "INIT_START Runtime Version: provided:al2023\tRuntime Version ARN: arn:aws:lambda:"+r.config.Region+"::runtime:local")
	s.cmd = exec.Command(s.fn.Path)
	s.cmd.Dir = filepath.Dir(s.fn.Path)
	s.cmd.Env = env
	s.cmd.Stdout = s.logs.write
	s.cmd.Stderr = s.logs.write
	isolate(s.cmd)
	if err := r.spawn(s.cmd); err != nil {
		s.logs.close()
		return fmt.Errorf("%w: %w", errEntrypoint, err)
	}
	return nil
}

// wait ends the sandbox when its process ends, whatever the cause.
func (s *sandbox) wait() {
	_ = s.cmd.Wait() // the process state says what there is to know
	s.mu.Lock()
	s.gone = true
	if s.reason == "" {
		s.reason = ExitCrashed
	}
	s.exitState = s.cmd.ProcessState.String()
	exit := Exit{
		Function: s.fn.Name, SandboxID: s.id, PID: s.cmd.Process.Pid, Reason: s.reason, State: s.exitState,
	}
	if s.current != nil {
		exit.RequestID = s.current.requestID
	}
	s.mu.Unlock()

	// Children the process may have left in its group die with it.
	_ = syscall.Kill(-exit.PID, syscall.SIGKILL)
	s.logs.close()
	s.server.Close()
	os.RemoveAll(s.paths.tmp)
	s.onExit(s, exit)
	close(s.exited)
}

// kill ends the process and everything in its group at once; the first reason given is the one reported. A process that
// is already gone stays as it is.
func (s *sandbox) kill(reason ExitReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return
	}
	if s.reason == "" {
		s.reason = reason
	}
	s.sampleMemory()
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

// shutDown ends an idle sandbox as the service does: SIGKILL, after SIGTERM and a grace where an extension asked for it.
func (s *sandbox) shutDown(reason ExitReason) {
	s.mu.Lock()
	wantsSIGTERM := s.sigterm && !s.gone
	if wantsSIGTERM {
		if s.reason == "" {
			s.reason = reason
		}
		s.signal(syscall.SIGCONT)
		s.signal(syscall.SIGTERM)
	}
	s.mu.Unlock()
	if wantsSIGTERM {
		select {
		case <-s.exited:
		case <-time.After(terminationGrace):
		}
	}
	s.kill(reason)
	<-s.exited
}

// freeze stops the process between invocations.
func (s *sandbox) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
	s.signal(syscall.SIGSTOP)
}

func (s *sandbox) thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		s.frozen = false
		s.signal(syscall.SIGCONT)
	}
}

// signal reaches the whole group; the caller holds the lock.
func (s *sandbox) signal(sig syscall.Signal) {
	if !s.gone {
		_ = syscall.Kill(-s.cmd.Process.Pid, sig)
	}
}

// sampleMemory keeps the highest peak seen; the caller holds the lock.
func (s *sandbox) sampleMemory() {
	s.peakMemory = max(s.peakMemory, peakMemoryBytes(s.cmd.Process.Pid))
}

// memoryEvery is how often the memory of a process is looked at while it serves an invocation.
const memoryEvery = 100 * time.Millisecond

// overMemory reports whether the process has had more memory than its function.
func (s *sandbox) overMemory() bool {
	s.mu.Lock()
	s.sampleMemory()
	s.mu.Unlock()
	return s.maxMemoryMB() > s.fn.MemoryMB
}

func (s *sandbox) maxMemoryMB() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int((s.peakMemory + 1<<20 - 1) >> 20)
}

// logProcessLine records what the process wrote, under the invocation it wrote it in.
func (s *sandbox) logProcessLine(text string) {
	s.mu.Lock()
	requestID := ""
	if s.current != nil {
		requestID = s.current.requestID
	}
	s.mu.Unlock()
	s.log(requestID, text)
}

func (s *sandbox) log(requestID, text string) {
	s.recorder.record(LogLine{
		Time: time.Now(), Function: s.fn.Name, SandboxID: s.id, RequestID: requestID, Text: text,
	})
}
