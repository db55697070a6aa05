package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

const aboutIAM = `# IAM permissions

Generated from ` + "`infra/cdk/templates`" + ` by ` + "`make generated`" + `.

This page lists every statement of every policy that the stacks create. ` + "`CLUSTER`" + `, ` + "`REGION`" + ` and ` + "`ACCOUNT`" + ` stand for the names of an installation.
Names of resources without an ARN are those of the same stack. A "cluster's tags" are ` + "`kubernetes.io/cluster/CLUSTER`" + ` with the value
` + "`owned`" + ` and ` + "`karpenter.sh/nodepool`" + `. The [threat model](../threat-model.md) says what a holder of each role can do.

A function has two roles. Its own role, in the region's stack, uses the ledger, the bucket and the queues. With it the function assumes a role of the
cluster, which the cluster's stack creates and which uses EC2.
`

// statement is one statement of a policy, with where it is.
type statement struct {
	resource, sid, effect                 string
	actions, resources, conditions, whose []string
}

// iam writes iam.md.
func iam(out io.Writer, root string) error {
	words, err := open("iam.csv")
	if err != nil {
		return err
	}
	fmt.Fprint(out, aboutIAM)
	folder := filepath.Join(root, "infra/cdk/templates")
	said := map[string]bool{}
	for _, one := range []struct{ file, title string }{{"region.json", "The region's stack"}, {"cluster.json", "A cluster's stack"}} {
		all, err := statementsOf(filepath.Join(folder, one.file))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n## %s\n", one.title)
		last := ""
		for _, s := range all {
			said[s.key()] = true
			if s.resource != last {
				last = s.resource
				fmt.Fprintf(out, "\n### %s\n\n| Statement | Effect | Actions | On | Condition | Purpose |\n|---|---|---|---|---|---|\n", s.resource)
			}
			s.write(out, words)
		}
	}
	fmt.Fprint(out, "\n## Statements that options add or change\n\nThe first column names the template in `infra/cdk/templates` that shows it.\n\n| Template | Policy of | Statement | Effect | Actions | On | Condition | Purpose |\n|---|---|---|---|---|---|---|---|\n")
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		all, err := statementsOf(file)
		if err != nil {
			return err
		}
		for _, s := range all {
			if key := s.key(); !said[key] {
				said[key] = true
				fmt.Fprintf(out, "| `%s` | %s ", strings.TrimSuffix(filepath.Base(file), ".json"), s.resource)
				s.write(out, words)
			}
		}
	}
	return words.check()
}

// key is the same for what a reader would take for the same statement. Accounts of examples differ from template to template.
func (s statement) key() string {
	return account.ReplaceAllString(fmt.Sprint(s.resource, s.sid, s.effect, s.actions, s.resources, s.conditions, s.whose), "ACCOUNT")
}

var account = regexp.MustCompile(`\b[0-9]{12}\b`)

func (s statement) write(out io.Writer, words *glossary) {
	purpose, name := "", s.sid
	if s.sid == "" {
		name, purpose = "trust", "Says who may assume the role."
	} else {
		purpose = words.of(s.sid)
	}
	on := s.resources
	if len(on) == 0 {
		on = s.whose
	}
	page.Row(out, name, s.effect, list(s.actions), list(on), list(s.conditions), purpose)
}

func list(items []string) string {
	var out []string
	for _, item := range items {
		out = append(out, page.Code(item))
	}
	return strings.Join(out, " ")
}

// statementsOf reads all policies of a template: by resource, in their order.
func statementsOf(file string) ([]statement, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	type document struct{ Statement []map[string]any }
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				AssumeRolePolicyDocument, PolicyDocument *document
				Policies                                 []struct{ PolicyDocument document }
				ManagedPolicyArns                        []any
			}
		}
	}
	if err := json.Unmarshal(data, &template); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []statement
	for _, name := range slices.Sorted(maps.Keys(template.Resources)) {
		r := template.Resources[name]
		if r.Type == "AWS::KMS::Key" {
			return nil, fmt.Errorf("%s: %s has a policy that this page does not show", file, name)
		}
		var documents []document
		for _, one := range []*document{r.Properties.AssumeRolePolicyDocument, r.Properties.PolicyDocument} {
			if one != nil {
				documents = append(documents, *one)
			}
		}
		for _, policy := range r.Properties.Policies {
			documents = append(documents, policy.PolicyDocument)
		}
		for _, d := range documents {
			for _, s := range d.Statement {
				one := statement{resource: name, actions: texts(s["Action"]), resources: texts(s["Resource"])}
				one.sid, _ = s["Sid"].(string)
				one.effect, _ = s["Effect"].(string)
				one.conditions, one.whose = conditions(s["Condition"]), principals(s["Principal"])
				out = append(out, one)
			}
		}
		if managed := r.Properties.ManagedPolicyArns; len(managed) > 0 {
			out = append(out, statement{resource: name, sid: "ManagedPolicies", effect: "Allow", resources: texts(managed)})
		}
	}
	return out, nil
}

var named = strings.NewReplacer("arn:${AWS::Partition}:", "arn:aws:", "${AWS::Region}", "REGION", "${AWS::AccountId}", "ACCOUNT", "${AWS::URLSuffix}", "amazonaws.com",
	"joiner-demo", "CLUSTER", ".Arn}", "}")

// texts are the texts of a value, with intrinsic functions written as names.
func texts(value any) []string {
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		return []string{named.Replace(value)}
	case []any:
		var out []string
		for _, each := range value {
			out = append(out, texts(each)...)
		}
		return out
	case map[string]any:
		if text, is := value["Fn::Sub"].(string); is {
			return []string{named.Replace(text)}
		}
		if parts, is := value["Fn::GetAtt"].([]any); is {
			return texts(parts[0])
		}
		if text, is := value["Ref"].(string); is {
			return []string{text}
		}
		if _, is := value["Fn::Select"]; is {
			return []string{"ID of the cluster's stack"}
		}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return []string{named.Replace(string(encoded))}
}

func conditions(value any) []string {
	all, _ := value.(map[string]any)
	var out []string
	for _, operator := range slices.Sorted(maps.Keys(all)) {
		keys, _ := all[operator].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			out = append(out, fmt.Sprintf("%s %s: %s", operator, named.Replace(key), strings.Join(texts(keys[key]), ", ")))
		}
	}
	return out
}

func principals(value any) []string {
	all, is := value.(map[string]any)
	if !is {
		return texts(value)
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		out = append(out, texts(all[kind])...)
	}
	return out
}
