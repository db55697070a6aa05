package seam

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"

	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// Input is one call of joiner, and what came back: a line of what JOINER_UPSTREAM_TRACE is given.
type Input struct {
	Spec    string            `json:"spec"`  // its full text
	Place   string            `json:"place"` // file:line, below Karpenter's folder
	Call    int               `json:"call"`  // of the spec, from 1
	Args    []string          `json:"args"`  // after the files: plan provision --now …
	Objects []json.RawMessage `json:"objects"`
	Catalog json.RawMessage   `json:"catalog"`
	Answer  json.RawMessage   `json:"answer,omitempty"`
	Said    string            `json:"said,omitempty"` // on standard error
	Status  int               `json:"status"`
}

var (
	asking sync.Mutex
	calls  = map[string]int{}
	last   struct {
		input  string
		answer json.RawMessage
	}
)

// ask runs joiner with the cluster and returns what it writes. A spec of which joiner cannot read the input fails.
func (g *gathered) ask(ctx context.Context, now time.Time, command string, args ...string) json.RawMessage {
	set := options.FromContext(ctx)
	return g.run(ctx, append([]string{"plan", command, "--output", "json", "--now", now.UTC().Format(time.RFC3339),
		"--preference-policy", string(set.PreferencePolicy),
		"--min-values-policy", string(set.MinValuesPolicy)}, args...), 0)
}

// run runs joiner with arguments and the cluster, and returns what it writes. A spec fails where the exit status is
// above most.
func (g *gathered) run(ctx context.Context, args []string, most int) json.RawMessage {
	asking.Lock()
	defer asking.Unlock()
	report := ginkgo.CurrentSpecReport()
	q := Input{Spec: report.FullText(), Place: place(report), Objects: g.objects, Catalog: g.catalog, Args: args}
	same, err := json.Marshal(&q)
	must(err)
	if string(same) == last.input { // Karpenter's methods ask one after the other
		return last.answer
	}
	calls[q.Spec+q.Place]++
	q.Call = calls[q.Spec+q.Place]

	folder, err := os.MkdirTemp("", "joiner-question")
	must(err)
	defer os.RemoveAll(folder)
	files := []string{filepath.Join(folder, "cluster.json"), filepath.Join(folder, "catalog.json")}
	objects, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": g.objects})
	must(err)
	must(os.WriteFile(files[0], objects, 0o600))
	must(os.WriteFile(files[1], g.catalog, 0o600))

	run := exec.CommandContext(ctx, os.Getenv("JOINER_BIN"), append(q.Args, "--filename", files[0], "--catalog", files[1])...)
	var out, said bytes.Buffer
	run.Stdout, run.Stderr = &out, &said
	err = run.Run()
	q.Status, q.Said = run.ProcessState.ExitCode(), strings.ReplaceAll(said.String(), folder+"/", "")
	refused := err != nil && (q.Status < 0 || q.Status > most)
	if !refused {
		q.Answer = bytes.TrimSpace(out.Bytes())
	}
	record(&q)
	if refused {
		ginkgo.Fail(fmt.Sprintf("joiner %s: %v\n%s", strings.Join(q.Args, " "), err, q.Said))
	}
	last.input, last.answer = string(same), q.Answer
	return q.Answer
}

func place(report ginkgo.SpecReport) string {
	at := report.LeafNodeLocation
	name := at.FileName
	if _, below, ok := strings.Cut(name, "/pkg/"); ok {
		name = "pkg/" + below
	}
	return fmt.Sprintf("%s:%d", name, at.LineNumber)
}

func record(q *Input) {
	folder := os.Getenv("JOINER_UPSTREAM_TRACE")
	if folder == "" {
		return
	}
	line, err := json.Marshal(q)
	must(err)
	file, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("questions-%d.jsonl", os.Getpid())), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	_, err = file.Write(append(line, '\n'))
	must(err)
	must(file.Close())
}
