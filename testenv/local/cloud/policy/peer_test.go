package policy

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// peerScript asks the evaluator @cloud-copilot/iam-simulate, one question a line, and prints "true" or "false" for each.
const peerScript = `
const { runSimulation } = require('@cloud-copilot/iam-simulate');
const lines = require('fs').readFileSync(0, 'utf8').trim().split('\n');
(async () => {
  for (const line of lines) {
    const r = await runSimulation(JSON.parse(line), {});
    console.log(r.resultType === 'error' || r.errors ? 'error ' + JSON.stringify(r.errors) : String((r.overallResult ?? r.analysis?.result) === 'Allowed'));
  }
})();
`

// TestAgainstAnotherEvaluator compares decisions about drawn policies with an evaluator that others wrote. It is not part of
// what is built or shipped: set JOINER_IAM_PEER to a folder with its node_modules to run this.
func TestAgainstAnotherEvaluator(t *testing.T) {
	folder := os.Getenv("JOINER_IAM_PEER")
	if folder == "" {
		t.Skip("JOINER_IAM_PEER is not set: npm install @cloud-copilot/iam-simulate into a folder and name it")
	}
	var questions strings.Builder
	var ours []sample
	for seed := range uint64(3000) {
		s := draw{rand.New(rand.NewPCG(seed, 2))}.sample()
		text, err := json.Marshal(s.simulation())
		if err != nil {
			t.Fatal(err)
		}
		questions.Write(append(text, '\n'))
		ours = append(ours, s)
	}
	script := filepath.Join(folder, "peer.cjs")
	if err := os.WriteFile(script, []byte(peerScript), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "node", script)
	run.Stdin, run.Stderr = strings.NewReader(questions.String()), os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(ours) {
		t.Fatalf("%d answers to %d questions", len(answers), len(ours))
	}
	allowed, differ := 0, 0
	for i, s := range ours {
		got := s.decide(t)
		if got.Allowed() {
			allowed++
		}
		if want := answers[i]; want != map[bool]string{true: "true", false: "false"}[got.Allowed()] {
			if differ++; differ < 10 {
				t.Errorf("seed %d: %v, the other says %s\n%+v", i, got, want, s)
			}
		}
	}
	t.Logf("%d of %d allowed, %d differ", allowed, len(ours), differ)
}

// simulation is the question in the words of the other evaluator.
func (s sample) simulation() map[string]any {
	raw := func(statements []string) any { return json.RawMessage(document(statements...)) }
	context := map[string]any{}
	for key, values := range s.request.Context {
		context[key] = values
		if !several(key) {
			context[key] = values[0]
		}
	}
	out := map[string]any{
		"request": map[string]any{
			"principal": s.request.Principal.Session, "action": s.request.Action, "contextVariables": context,
			"resource": map[string]any{"resource": s.request.Resource, "accountId": s.request.Account},
		},
		"identityPolicies":       []any{map[string]any{"name": "identity", "policy": raw(s.identity)}},
		"serviceControlPolicies": []any{}, "resourceControlPolicies": []any{},
	}
	if s.boundary != nil {
		out["permissionBoundaryPolicies"] = []any{map[string]any{"name": "boundary", "policy": raw(s.boundary)}}
	}
	if s.resource != nil {
		out["resourcePolicy"] = raw(s.resource)
	}
	return out
}
