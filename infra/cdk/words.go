package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// sub is text with ${AWS::Region} and the like, and ${LogicalName} of the same stack, filled in when the stack is deployed.
func sub(format string, args ...any) *string {
	return awscdk.Fn_Sub(jsii.String(fmt.Sprintf(format, args...)), nil)
}

// filledIn is text as a name: with ${AWS::Region} and the like filled in, or as it stands where there is nothing to fill in.
func filledIn(text string) *string {
	if strings.Contains(text, "${") {
		return sub("%s", text)
	}
	return s(text)
}

func s(text string) *string            { return jsii.String(text) }
func n(number int) *float64            { return jsii.Number(number) }
func texts(items ...string) *[]*string { return jsii.Strings(items...) }

// optional is nil for "".
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return s(text)
}

// stackName is a cluster's name as names of stacks may be: without _.
func stackName(cluster string) string { return strings.ReplaceAll(cluster, "_", "-") }

// short is a cluster's name as it stands in names of roles, which have at most 64 characters of which it gets 29: the longest
// region and the longest function take the rest. A longer one keeps its first 20 and gets a digest.
func short(cluster string) string {
	const longest, kept = 29, 20
	if len(cluster) <= longest {
		return cluster
	}
	digest := sha256.Sum256([]byte(cluster))
	return cluster[:kept] + "-" + hex.EncodeToString(digest[:4])
}

// missingZips says which functions' zips are not there, and how to make them.
func missingZips(o Options) error {
	for _, f := range functions(o) {
		if _, err := os.Stat(zipOf(f.Program, o)); err != nil {
			return fmt.Errorf("the zip of function %s is missing: %w\nbuild it by `make zips` in the project's folder, or set context zips to its folder", f.Name, err)
		}
	}
	return nil
}

func zipOf(program string, o Options) string { return filepath.Join(o.Zips, program+".zip") }

// statement of a policy.
type statement = map[string]any

func allow(sid string, actions []string, resources []*string, conditions map[string]any) statement {
	return ruling("Allow", sid, actions, resources, conditions)
}

func deny(sid string, actions []string, resources []*string, conditions map[string]any) statement {
	return ruling("Deny", sid, actions, resources, conditions)
}

func ruling(effect, sid string, actions []string, resources []*string, conditions map[string]any) statement {
	out := statement{"Sid": sid, "Effect": effect, "Action": actions, "Resource": resources}
	if len(conditions) > 0 {
		out["Condition"] = conditions
	}
	return out
}

// document is a policy of statements; nil ones are left out.
func document(statements ...statement) map[string]any {
	var kept []statement
	for _, one := range statements {
		if one != nil {
			kept = append(kept, one)
		}
	}
	return map[string]any{"Version": "2012-10-17", "Statement": kept}
}

var everything = []*string{jsii.String("*")}
