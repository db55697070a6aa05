package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// buildDriver compiles the driver of a suite that has one, in the folder of this module, and finds its definition.
func (w *Work) buildDriver(ctx context.Context, here string, s Suite) error {
	if s.Driver.Package == "" {
		return nil
	}
	folder, err := output(ctx, here, "go", "list", "-f", "{{.Dir}}", s.Driver.Package)
	if err != nil {
		return err
	}
	program := filepath.Join(w.Dir, strings.ReplaceAll(s.Name, "/", "-")+".driver")
	if _, err := output(ctx, here, "go", "build", "-trimpath", "-o", program, s.Driver.Package); err != nil {
		return err
	}
	w.drivers[s.Name], w.driven[s.Name] = program, filepath.Join(folder, filepath.FromSlash(s.Driver.Definition))
	return nil
}

// startDriver runs the driver of the batch's suite, if it has one, until stop, and returns when it is ready. stop
// returns an error where it did not run until then. What it says goes to log.
func (b Batch) startDriver(ctx context.Context, p Place, log string) (stop func() error, err error) {
	if b.Driver == "" {
		return func() error { return nil }, nil
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.Driver)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.Environment(), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the runner, which ends it
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("start the driver of %s: %w", b.Suite.Name, err)
	}
	failed := func(what string, err error) error {
		return fmt.Errorf("the driver of %s %s (%w); %s has what it said", b.Suite.Name, what, err, log)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmp.Or(cmd.Wait(), errors.New("exit status 0"))
		out.Close()
	}()
	stop = func() error {
		select {
		case err := <-ended:
			return failed("ended by itself", err)
		default:
		}
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
		return nil
	}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !answers(ready, b.Suite.Driver.Ready) {
		select {
		case err := <-ended:
			return nil, failed("ended before it was ready", err)
		case <-ready.Done():
			stop()
			return nil, failed("is not ready", ready.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return stop, nil
}

// answers reports whether a URL answers 200.
func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
