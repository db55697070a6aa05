package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestMain(m *testing.M) { os.Exit(kube.Alone(m.Run)) }

// buffer is written by several goroutines.
type buffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func TestAPodRunsOnAnInstance(t *testing.T) {
	var out buffer
	if err := run(t.Context(), false, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "pod hello runs on ip-10-0-0-1.us-west-2.compute.internal\n") {
		t.Errorf("it printed\n%s", text)
	}
}
