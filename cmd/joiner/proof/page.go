package proof

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Write writes a report as a page of text: what differs and fails first, and of everything a line.
func Write(w io.Writer, r *Report) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "joiner proof, run %s, region %s: %d pass, %d differ, %d fail, %d unknown, %d skipped. Cost at most $%.4f of $%.2f.\n",
		r.Run, r.Region, r.Count(Pass), r.Count(Differs), r.Count(Fail), r.Count(Unknown), r.Count(Skipped), r.Spent, r.Ceiling)
	if r.Source != "aws" {
		fmt.Fprintf(b, "Answers came from %s: this says nothing about AWS.\n", r.Source)
	}
	for _, v := range []Verdict{Fail, Differs, Unknown} {
		for _, x := range r.Results {
			if x.Verdict == v {
				writeResult(b, x)
			}
		}
	}
	fmt.Fprintf(b, "\n%-8s  %-13s  %-40s  %s\n", "VERDICT", "SERVICE", "ASSUMPTION", "SEEN")
	for _, x := range r.Results {
		said := facts(x.Seen)
		if said == "" {
			said = x.Why
		}
		fmt.Fprintf(b, "%-8s  %-13s  %-40s  %s\n", x.Verdict, x.Service, x.ID, said)
	}
	if r.Cleaned > 0 {
		fmt.Fprintf(b, "\n%d things that earlier runs had left were removed.\n", r.Cleaned)
	}
	for _, t := range r.Left {
		fmt.Fprintf(b, "\nLEFT: %s of run %s: run joiner proof --clean\n", t, t.Run)
	}
	for _, text := range r.Errors {
		fmt.Fprintf(b, "\nERROR: %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeResult(b *strings.Builder, x Result) {
	fmt.Fprintf(b, "\n%s %s: %s\n", strings.ToUpper(string(x.Verdict)), x.ID, x.Assumption)
	for i, reading := range x.Expected {
		relied := ""
		if i == 0 {
			relied = ", which the model of AWS follows"
		}
		fmt.Fprintf(b, "  expected under %q%s: %s\n    %s\n", reading.Reading, relied, facts(reading.Want), reading.Says)
	}
	if x.Why != "" {
		fmt.Fprintf(b, "  not checked: %s\n", x.Why)
		return
	}
	fmt.Fprintf(b, "  seen: %s\n", facts(x.Seen))
}

// facts writes what was seen or is wanted, sorted by name.
func facts(s Seen) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(out, name+"="+s[name])
	}
	return strings.Join(out, ", ")
}

// WriteJSON writes a report for programs.
func WriteJSON(w io.Writer, r *Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// Listed is a probe as the list for programs shows it.
type Listed struct {
	ID         string     `json:"id"`
	Service    string     `json:"service"`
	Kind       Kind       `json:"kind"`
	Assumption string     `json:"assumption"`
	About      string     `json:"about"`
	Cost       float64    `json:"costDollars"`
	Seconds    float64    `json:"seconds"`
	Rights     []string   `json:"rights"`
	Cluster    bool       `json:"needsCluster"`
	Readings   []Expected `json:"readings"`
}

// List writes what each probe does, costs and takes.
func List(w io.Writer, probes []Probe) error {
	b := &strings.Builder{}
	for _, p := range probes {
		fmt.Fprintf(b, "%s (%s, %s, up to $%.4f)\n  assumes  %s\n  does     %s\n", p.ID, p.Service, p.Kind, p.Cost, p.Assumption, p.About)
		for i, r := range p.Readings {
			fmt.Fprintf(b, "  reading  %s%s: %s\n", r.Name, map[bool]string{true: " (the model's)"}[i == 0], r.Says)
		}
		fmt.Fprintf(b, "  actions  %s\n", strings.Join(p.Rights, " "))
		if p.Needs.Cluster {
			b.WriteString("  needs    --cluster\n")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "%d probes, up to $%.4f together\n", len(probes), Estimate(probes))
	_, err := io.WriteString(w, b.String())
	return err
}

// ListJSON writes the same for programs.
func ListJSON(w io.Writer, probes []Probe) error {
	out := []Listed{}
	for _, p := range probes {
		out = append(out, Listed{p.ID, p.Service, p.Kind, p.Assumption, p.About, p.Cost, p.Lasts.Seconds(), p.Rights, p.Needs.Cluster, expected(p)})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

// cleaningRights are what finding and removing what runs have left takes. Every run needs them.
var cleaningRights = []string{
	"ec2:DescribeInstances", "ec2:TerminateInstances", "ec2:DescribeLaunchTemplates", "ec2:DeleteLaunchTemplate",
	"ec2:DescribeCapacityReservations", "ec2:CancelCapacityReservation",
	"events:ListRules", "events:ListTagsForResource", "events:ListTargetsByRule", "events:RemoveTargets", "events:DeleteRule",
	"sqs:ListQueues", "sqs:ListQueueTags", "sqs:DeleteQueue",
	"dynamodb:ListTables", "dynamodb:DescribeTable", "dynamodb:ListTagsOfResource", "dynamodb:DeleteTable",
	"s3:ListAllMyBuckets", "s3:ListBucket", "s3:DeleteObject", "s3:DeleteBucket", "eks:ListAccessEntries", "eks:DeleteAccessEntry",
	"iam:ListInstanceProfiles", "iam:GetInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile",
	"iam:ListRoles", "iam:ListRoleTags", "iam:ListRolePolicies", "iam:DeleteRolePolicy", "iam:DeleteRole",
	"ssm:GetParametersByPath", "ssm:DeleteParameter",
}

// Rights returns the IAM actions that probes, and cleaning up after them, take.
func Rights(probes []Probe) []string {
	out := append([]string{"sts:GetCallerIdentity"}, cleaningRights...)
	for _, p := range probes {
		out = append(out, p.Rights...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
