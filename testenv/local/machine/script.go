package machine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// command is a program of an image. It returns its exit status.
type command func(ctx context.Context, in programIO, args []string) uint8

// programIO is what a program reads, writes and says of its faults.
type programIO struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// fail says why a program ends with status 1.
func (p programIO) fail(name string, err error) uint8 {
	fmt.Fprintf(p.stderr, "%s: %v\n", name, err)
	return 1
}

// computer is a running instance as its scripts see it: programs, and files that nobody else has.
type computer struct {
	programs map[string]command
	files    map[string][]byte // by absolute path
}

// execute runs scripts one after another, as cloud-init does. The error has what the one that failed said.
func (c *computer) execute(ctx context.Context, scripts []string) error {
	for n, text := range scripts {
		var said bytes.Buffer
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err != nil {
			return fmt.Errorf("user data, script %d: %w", n+1, err)
		}
		runner, err := interp.New(
			interp.StdIO(nil, io.Discard, &said), interp.Env(expand.ListEnviron("PATH=/usr/bin", "HOME=/root")),
			interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return c.run }),
			interp.OpenHandler(c.open), interp.StatHandler(c.stat),
			interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, fs.ErrNotExist }),
		)
		if err != nil {
			return err
		}
		if err := runner.Run(ctx, file); err != nil {
			return fmt.Errorf("user data, script %d: %w: %s", n+1, err, strings.TrimSpace(said.String()))
		}
	}
	return nil
}

func (c *computer) run(ctx context.Context, args []string) error {
	h := interp.HandlerCtx(ctx)
	program, known := c.programs[path.Base(args[0])]
	if !known {
		fmt.Fprintf(h.Stderr, "%s: command not found\n", args[0])
		return interp.ExitStatus(127)
	}
	if status := program(ctx, programIO{h.Stdin, h.Stdout, h.Stderr}, args[1:]); status != 0 {
		return interp.ExitStatus(status)
	}
	return nil
}

func (c *computer) open(_ context.Context, name string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	switch text, there := c.files[name]; {
	case name == os.DevNull:
		return &openFile{}, nil
	case flag&(os.O_WRONLY|os.O_RDWR) == 0 && !there:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return &openFile{Buffer: *bytes.NewBuffer(text)}, nil
	case flag&os.O_APPEND != 0:
		return &openFile{*bytes.NewBuffer(bytes.Clone(text)), c, name}, nil
	}
	return &openFile{of: c, name: name}, nil
}

func (c *computer) stat(_ context.Context, name string, _ bool) (fs.FileInfo, error) {
	text, there := c.files[name]
	if !there {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fileInfo{path.Base(name), int64(len(text))}, nil
}

// openFile is a file that is read or written; what was written is there once it is closed.
type openFile struct {
	bytes.Buffer
	of   *computer // nil: nothing is kept
	name string
}

// Close implements io.Closer.
func (f *openFile) Close() error {
	if f.of != nil {
		f.of.files[f.name] = bytes.Clone(f.Bytes())
	}
	return nil
}

type fileInfo struct {
	name string
	size int64
}

func (f fileInfo) Name() string       { return f.name }
func (f fileInfo) Size() int64        { return f.size }
func (f fileInfo) Mode() fs.FileMode  { return 0o644 }
func (f fileInfo) ModTime() time.Time { return time.Time{} }
func (f fileInfo) IsDir() bool        { return false }
func (f fileInfo) Sys() any           { return nil }
