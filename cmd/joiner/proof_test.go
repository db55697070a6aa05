package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

func proofRun(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(append([]string{"proof"}, args...), strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

// The list needs no account, says what each probe does, costs and takes, and has sixty at least.
func TestProofListsWhatEachProbeDoes(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	status, out, errs := proofRun(t, "--list", "-o", "json")
	var list []proof.Listed
	if err := json.Unmarshal([]byte(out), &list); status != 0 || err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if len(list) < 60 {
		t.Errorf("%d probes; 60 are wanted", len(list))
	}
	services := map[string]bool{}
	for _, p := range list {
		services[p.Service] = true
		if p.Assumption == "" || p.About == "" || len(p.Readings) == 0 || p.Kind == "" || p.Kind == proof.KindInstances && p.Cost == 0 {
			t.Errorf("%s does not say all: %+v", p.ID, p)
		}
		for _, r := range p.Readings {
			if r.Reading == "" || r.Says == "" || len(r.Want) == 0 {
				t.Errorf("%s has a reading that says nothing: %+v", p.ID, r)
			}
		}
	}
	for _, service := range []string{"ec2", "sqs", "s3", "dynamodb", "sts", "iam", "eks", "ssm", "lambda", "events"} {
		if !services[service] {
			t.Errorf("no probe asks %s", service)
		}
	}
	status, out, _ = proofRun(t, "--list", "--only", "ec2-run-instances-tags")
	for _, want := range []string{"ec2-run-instances-tags (ec2, small, up to $", "assumes ", "does ", "reading  overwrite (the model's)", "reading  merge:", "actions  iam:CreateRole", "1 probes, up to $"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, the list lacks %q:\n%s", status, want, out)
		}
	}
}

func TestProofRefusesWhatIsNone(t *testing.T) {
	for args, want := range map[string]string{
		"--only nonsense":        `--only names "nonsense", which is no probe and no service: see joiner proof --list`,
		"--ceiling 0":            "--ceiling is 0; give the dollars a run may cost, such as 1",
		"--list --yes":           "none of the others can be",
		"-o wide":                "must be table or json",
		"--clean --list -o json": "none of the others can be",
	} {
		if status, _, errs := proofRun(t, strings.Fields(args)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s, want %q", args, status, errs, want)
		}
	}
}

// The policy that is printed has the permissions of the probes and of cleaning up after them, and no more.
func TestProofPrintsThePolicyItTakes(t *testing.T) {
	status, out, errs := proofRun(t, "--policy", "--only", "sqs-error-codes")
	var doc struct{ Statement []struct{ Action []string } }
	if err := json.Unmarshal([]byte(out), &doc); status != 0 || err != nil || len(doc.Statement) != 1 {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	actions := strings.Join(doc.Statement[0].Action, " ")
	if !strings.Contains(actions, "sqs:GetQueueUrl") || !strings.Contains(actions, "ec2:TerminateInstances") || strings.Contains(actions, "ec2:RunInstances") {
		t.Errorf("actions %s", actions)
	}
}

// Dry runs against an account write a page and a record; the record says who answered.
func TestProofAsksAnAccount(t *testing.T) {
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range c.Environment(sts.Credentials{AccessKeyID: cloud.DefaultAccessKeyID, SecretAccessKey: cloud.DefaultSecretAccessKey}) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	file := filepath.Join(t.TempDir(), "record.jsonl")
	status, out, errs := proofRun(t, "--only", "sqs-error-codes,front-signature-age,sqs-batch-ten", "--record", file)
	if status != 0 || !strings.Contains(out, "2 pass, 0 differ, 0 fail, 0 unknown, 1 skipped") || !strings.Contains(out, "give --yes") || !strings.Contains(errs, "with --yes 1 more") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	r, err := proof.ReadRecording(text)
	if err != nil || r.Head.Evidence || !strings.HasPrefix(r.Head.Source, "http://") || len(r.Results) != 3 {
		t.Errorf("%v, head %+v, %d results", err, r.Head, len(r.Results))
	}
	if status, _, errs := proofRun(t, "--only", "sqs-error-codes", "--record", file); status != 2 || !strings.Contains(errs, "--record") {
		t.Errorf("a record that exists: status %d, %s", status, errs)
	}
}
