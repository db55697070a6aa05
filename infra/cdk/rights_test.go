package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statementJSON is one of a role's own policy.
type statementJSON struct {
	Sid, Effect string
	Action      []string
	Resource    []any
	Condition   map[string]map[string]any
}

// statements are those of a role in a template.
func statements(t *testing.T, file, role string) []statementJSON {
	t.Helper()
	var policies []struct {
		PolicyDocument struct{ Statement []statementJSON }
	}
	text, err := json.Marshal(parsed(t, file).Resources[role].Properties["Policies"])
	if err == nil {
		err = json.Unmarshal(text, &policies)
	}
	if err != nil {
		t.Fatalf("%s.%s: %v", file, role, err)
	}
	var out []statementJSON
	for _, p := range policies {
		out = append(out, p.PolicyDocument.Statement...)
	}
	return out
}

// eachStatement visits every statement of every role of every template.
func eachStatement(t *testing.T, visit func(where string, one statementJSON)) {
	t.Helper()
	visited := 0
	for file := range synthesised(t).templates {
		for id, r := range parsed(t, file).Resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			for _, one := range statements(t, file, id) {
				visited++
				visit(file+"."+id+"."+one.Sid, one)
			}
		}
	}
	if visited < 100 {
		t.Errorf("only %d statements were looked at", visited)
	}
}

// Nobody can both launch and terminate, and functions with their own permissions do neither.
func TestNobodyLaunchesAndTerminates(t *testing.T) {
	for file := range synthesised(t).templates {
		for id, r := range parsed(t, file).Resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			var launches, terminates bool
			for _, one := range statements(t, file, id) {
				if one.Effect != "Allow" {
					continue
				}
				for _, action := range one.Action {
					launches = launches || action == "ec2:RunInstances" || action == "ec2:CreateFleet"
					terminates = terminates || action == "ec2:TerminateInstances"
					if strings.HasPrefix(file, "region") && strings.HasPrefix(action, "ec2:") && !strings.Contains(action, "NetworkInterface") && !strings.Contains(action, "PrivateIp") && action != "ec2:DescribeSubnets" {
						t.Errorf("%s.%s may %s with its own permissions", file, id, action)
					}
				}
			}
			if launches && terminates {
				t.Errorf("%s.%s can launch and terminate", file, id)
			}
		}
	}
	for role, wanted := range map[string]string{"ProvisionRole": "ec2:CreateFleet", "InterruptionRole": "ec2:TerminateInstances"} {
		if !slices.ContainsFunc(statements(t, "cluster", role), func(one statementJSON) bool { return slices.Contains(one.Action, wanted) }) {
			t.Errorf("nobody may %s", wanted)
		}
	}
	if got := statements(t, "cluster", "DisruptRole"); len(got) > 0 {
		t.Errorf("who decides what to give back may do something itself: %v", got)
	}
}

// M87: who disrupts may read alarms where people want that, of the region, and nothing else.
func TestM87AlarmsAreReadWherePeopleWantThat(t *testing.T) {
	var got []statementJSON
	for _, one := range statements(t, "cluster-hardened", "DisruptRole") {
		if one.Sid != "AskWatcher" && one.Sid != "UseKey" {
			got = append(got, one)
		}
	}
	if len(got) != 1 || got[0].Effect != "Allow" || fmt.Sprint(got[0].Action) != "[cloudwatch:DescribeAlarms]" ||
		fmt.Sprint(got[0].Condition) != "map[StringEquals:map[aws:RequestedRegion:map[Fn::Sub:${AWS::Region}]]]" {
		t.Errorf("%v", got)
	}
}

// A resource "*" is for calls that know none, and every action is spelled out.
func TestStarsAreForReadsAlone(t *testing.T) {
	eachStatement(t, func(where string, one statementJSON) {
		for _, action := range one.Action {
			if strings.Contains(action, "*") {
				t.Errorf("%s allows %s", where, action)
			}
			reads := strings.HasPrefix(action, "ec2:Describe") || slices.Contains([]string{"pricing:GetProducts",
				"iam:ListInstanceProfiles", "cloudwatch:DescribeAlarms"}, action)
			network := strings.HasPrefix(one.Sid, "Attach") || one.Sid == "AssignIPv6"
			// Which cluster it is about is a condition key.
			shifts := action == "arc-zonal-shift:GetManagedResource" && strings.Contains(fmt.Sprint(one.Condition),
				"arc-zonal-shift:ResourceIdentifier:map[Fn::Sub:arn:${AWS::Partition}:eks:")
			if slices.Contains(one.Resource, any("*")) && !reads && !network && !shifts {
				t.Errorf("%s allows %s on everything", where, action)
			}
		}
		if one.Sid == "ReadEC2" && fmt.Sprint(one.Condition) != "map[StringEquals:map[aws:RequestedRegion:map[Fn::Sub:${AWS::Region}]]]" {
			t.Errorf("%s reads other regions: %v", where, one.Condition)
		}
	})
}

// Every write of EC2 and IAM is on condition of the cluster's tags, of the role passed, or of nothing but what instances are made from.
func TestEveryWriteHasItsCondition(t *testing.T) {
	const owner = "kubernetes.io/cluster/joiner-demo"
	eachStatement(t, func(where string, one statementJSON) {
		for _, action := range one.Action {
			service, verb, _ := strings.Cut(action, ":")
			if where == "cluster-hardened.NodeRole."+one.Sid || where == "cluster-hardened.WindowsNodeRole."+one.Sid {
				continue // of nodes: see TestA24
			}
			if one.Effect != "Allow" || service != "ec2" && service != "iam" || regexp.MustCompile(`^(Describe|Get|List)`).MatchString(verb) || one.Sid == "AttachToNetwork" {
				continue
			}
			equal := one.Condition["StringEquals"]
			switch {
			case equal["aws:RequestTag/"+owner] == "owned", equal["aws:ResourceTag/"+owner] == "owned":
			case action == "iam:PassRole" && fmt.Sprint(equal["iam:PassedToService"]) == "[ec2.amazonaws.com ec2.amazonaws.com.cn]":
			case one.Sid == "LaunchFromImages" && len(equal) == 1 && fmt.Sprint(equal["ec2:Owner"]) == "[amazon map[Fn::Sub:${AWS::AccountId}]]":
			case one.Sid == "AskForImages" && fmt.Sprint(one.Action) == "[ec2:CreateFleet]": // RunInstances is evaluated, too
			case one.Sid == "LaunchInto", one.Sid == "AskForNetwork" && fmt.Sprint(one.Action) == "[ec2:CreateFleet]",
				one.Sid == "LaunchIntoVPC" && strings.Contains(fmt.Sprint(one.Condition["ArnLike"]["ec2:Vpc"]), ":vpc/vpc-0123456789abcdef0"):
				if regexp.MustCompile(`:(instance|volume|fleet|network-interface|launch-template|spot-instances-request)/`).MatchString(fmt.Sprint(one.Resource)) {
					t.Errorf("%s lets machines be launched without tags: %v", where, one.Resource)
				}
			default:
				t.Errorf("%s allows %s on condition of %v", where, action, one.Condition)
			}
		}
	})
}

// IAM takes policies of a role up to 10,240 characters, white space not counted, with names as long as they may be.
func TestPoliciesFit(t *testing.T) {
	for file := range synthesised(t).templates {
		for id, r := range parsed(t, file).Resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			text, err := json.Marshal(r.Properties["Policies"])
			if err != nil {
				t.Fatal(err)
			}
			long := strings.NewReplacer(`{"Fn::Sub":`, "", "joiner-demo", strings.Repeat("c", 100), "${AWS::Partition}", "aws-us-gov", "${AWS::Region}", "ap-southeast-1",
				"${AWS::AccountId}", "123456789012").Replace(string(text))
			if len(long) > 10240 {
				t.Errorf("%s.%s: policies have %d characters", file, id, len(long))
			}
		}
	}
}

// Functions are given every setting they must have and none that they do not read.
func TestFunctionsGetTheirSettings(t *testing.T) {
	tag := regexp.MustCompile("env:\"(JOINER_[A-Z0-9_]+)(,required)?\"")
	for _, f := range functions(Options{Webhook: true}.withDefaults()) {
		read, required := map[string]bool{"JOINER_LOG_LEVEL": true}, []string{}
		sources, err := filepath.Glob(filepath.Join("../../functions", f.Program, "*.go"))
		if err != nil || len(sources) == 0 {
			t.Errorf("function %s has no source: %v", f.Program, err)
			continue
		}
		for _, source := range append(sources, "../../shared/boot/instances.go", "../../shared/boot/policies.go", "../../shared/boot/metrics.go") {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range tag.FindAllStringSubmatch(string(text), -1) {
				if read[match[1]] = true; match[2] != "" {
					required = append(required, match[1])
				}
			}
		}
		env, _ := parsed(t, "region-hardened").Resources[f.ID].Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		for _, name := range required {
			if env[name] == nil {
				t.Errorf("function %s lacks %s, which it must have", f.Name, name)
			}
		}
		for name := range env {
			if !read[name] {
				t.Errorf("function %s is given %s, which it does not read", f.Name, name)
			}
		}
		for _, name := range f.Settings {
			if !read[name] {
				t.Errorf("people may set %s of function %s, which it does not read", name, f.Name)
			}
		}
	}
}

// M16: JOINER_CRASH_FILE, by which tests kill a function, is in no stack and no chart, and no option sets it.
func TestM16NothingThatIsInstalledCrashesOnDemand(t *testing.T) {
	var files []string
	for _, pattern := range []string{"templates/*.json", "../chart/templates/*", "../chart/rendered/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 2 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "JOINER_CRASH") {
			t.Errorf("%s sets JOINER_CRASH_FILE", file)
		}
	}
	for _, f := range functions(Options{Webhook: true}.withDefaults()) {
		if slices.Contains(f.Settings, "JOINER_CRASH_FILE") {
			t.Errorf("people may set JOINER_CRASH_FILE of %s by an option", f.Name)
		}
	}
}
