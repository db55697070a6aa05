package child

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// Spec says which program to run.
type Spec struct {
	// Name is what messages call the program.
	Name string
	// Path is the program's absolute path.
	Path string
	// Args are its arguments, without the program itself.
	Args []string
	// Env is its whole environment as KEY=value; nil means ours.
	Env []string
	// LogPath is the file that takes its stdout and stderr; it is truncated.
	LogPath string
}

// Process is a started program. Its methods may be called from any goroutine.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	once sync.Once
}

// Start runs the program. The error names the program and is that of the
// operating system: a path that does not exist, or a log that cannot be made.
func Start(spec Spec) (*Process, error) {
	log, err := os.Create(spec.LogPath)
	if err != nil {
		return nil, fmt.Errorf("create log of %s: %w", spec.Name, err)
	}
	defer log.Close() // the child has its own descriptor

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = spec.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	if err := onLastingThread(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	err := p.cmd.Wait()
	if err == nil {
		p.err = fmt.Errorf("%s exited with status 0", p.spec.Name)
	} else {
		p.err = fmt.Errorf("%s: %w", p.spec.Name, err)
	}
	if tail := logTail(p.spec.LogPath); tail != "" {
		p.err = fmt.Errorf("%w; the end of %s:\n%s", p.err, p.spec.LogPath, tail)
	}
	close(p.done)
}

// Name returns the Name of the Spec.
func (p *Process) Name() string { return p.spec.Name }

// PID returns the process id, which is its group's id too.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed once the program has ended and been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the program ended, with the last lines of its log, and is nil
// while it runs. A program that ends by itself with status 0 has an error too,
// because none that is run here is meant to.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Kill ends the program and all of its group at once and returns when it has
// been reaped. It may be called more than once.
func (p *Process) Kill() {
	p.once.Do(func() { killGroup(p.cmd.Process) })
	<-p.done
}

// logTail returns the last lines of a log, at most some 2 KB, or "" where
// there is none.
func logTail(path string) string {
	const maxBytes = 2048
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	start := max(0, info.Size()-maxBytes)
	buf := make([]byte, info.Size()-start)
	n, _ := f.ReadAt(buf, start)
	text := string(buf[:n])
	if start > 0 { // drop the line that was cut
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}

var launcher struct {
	once     sync.Once
	requests chan func()
}

// onLastingThread runs f on a thread that lives as long as this process. The
// kernel sends a child its parent-death signal when the thread that forked it
// ends, not when the process does, and Go ends threads as it likes.
func onLastingThread(f func() error) error {
	launcher.once.Do(func() {
		launcher.requests = make(chan func())
		go func() {
			runtime.LockOSThread()
			for request := range launcher.requests {
				request()
			}
		}()
	})
	result := make(chan error, 1)
	launcher.requests <- func() { result <- f() }
	return <-result
}
