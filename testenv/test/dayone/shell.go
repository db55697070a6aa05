package dayone

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// shell is a reader's: what a command sets and where it goes to stays for the next one.
type shell struct {
	dir string    // its own, for what it has to remember
	at  string    // where the reader is
	env []string  // NAME=value; what commands export comes on top
	log io.Writer // all that is typed and told
}

var colors = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\r`)

// run types one command, on a terminal, and returns what was told. A command that fails, alone or before a && or a |, is an error.
func (s *shell) run(ctx context.Context, c Command) (output string, err error) {
	state, place, script := filepath.Join(s.dir, "exported"), filepath.Join(s.dir, "place"), filepath.Join(s.dir, "command")
	text := fmt.Sprintf("stty cols 200 rows 50\n[ -e %q ] && . %q\ncd %q || exit 1\nset -eo pipefail\n%s\nset +e\nexport -p >%q\npwd >%q\n", state, state, s.at, c.Text, state, place)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return "", err
	}
	fmt.Fprintf(s.log, "\n%s $ %s\n", c.Where, c.Text)
	command := exec.CommandContext(ctx, "python3", filepath.Join(Root(), "testenv", "test", "dayone", "terminal.py"), script)
	command.Env = s.env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 10 * time.Second
	var reported bytes.Buffer
	command.Stdout = io.MultiWriter(&reported, s.log)
	command.Stderr = command.Stdout
	began := time.Now()
	err = command.Run()
	fmt.Fprintf(s.log, "(%s)\n", time.Since(began).Round(time.Second))
	output = colors.ReplaceAllString(reported.String(), "")
	if err != nil {
		return output, &Failed{c, output, err}
	}
	at, err := os.ReadFile(place)
	if err != nil {
		return output, err
	}
	s.at = strings.TrimSpace(string(at))
	return output, nil
}

// set puts a variable into the shell's environment.
func (s *shell) set(name, value string) {
	s.env = slices.DeleteFunc(s.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	s.env = append(s.env, name+"="+value)
	// What was exported before would hide it.
	state := filepath.Join(s.dir, "exported")
	if file, err := os.OpenFile(state, os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintf(file, "export %s=%q\n", name, value)
		file.Close()
	}
}
