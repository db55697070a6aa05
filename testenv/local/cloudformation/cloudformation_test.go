package cloudformation

import (
	"reflect"
	"strings"
	"testing"
)

const sample = `{
 "AWSTemplateFormatVersion": "2010-09-09",
 "Parameters": {
  "Stage": {"Type": "String", "Default": "live", "AllowedValues": ["live", "test"]},
  "Subnets": {"Type": "CommaDelimitedList", "Default": "subnet-1, subnet-2"},
  "Asked": {"Type": "String"}
 },
 "Mappings": {"Suffix": {"us-west-2": {"dns": "amazonaws.com"}}},
 "Conditions": {
  "IsLive": {"Fn::Equals": [{"Ref": "Stage"}, "live"]},
  "IsTest": {"Fn::Not": [{"Condition": "IsLive"}]},
  "Both": {"Fn::And": [{"Condition": "IsLive"}, {"Condition": "IsTest"}]},
  "Either": {"Fn::Or": [{"Condition": "IsLive"}, {"Condition": "IsTest"}]}
 },
 "Resources": {
  "Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": {"Fn::Sub": "joiner-${Stage}"}, "Path": "/x/"}, "DependsOn": "OnlyTest"},
  "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": true, "QueueName": "q.fifo",
    "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3}}},
  "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"FifoQueue": true}},
  "OnlyTest": {"Type": "AWS::SQS::Queue", "Condition": "IsTest"},
  "Policy": {"Type": "AWS::SQS::QueuePolicy", "DependsOn": ["Role"], "Properties": {
    "Queues": [{"Ref": "Queue"}, {"Fn::If": ["IsTest", {"Ref": "OnlyTest"}, {"Ref": "AWS::NoValue"}]}],
    "Gone": {"Ref": "AWS::NoValue"},
    "Joined": {"Fn::Join": [":", ["a", {"Ref": "AWS::Region"}, 7, true]]},
    "Picked": {"Fn::Select": ["1", {"Ref": "Subnets"}]},
    "Cut": {"Fn::Select": [2, {"Fn::Split": ["/", "a/b/c"]}]},
    "Found": {"Fn::FindInMap": ["Suffix", {"Ref": "AWS::Region"}, "dns"]},
    "Subbed": {"Fn::Sub": ["${Role.Arn} ${Local} ${!aws:PrincipalTag/x} ${AWS::AccountId}", {"Local": {"Ref": "Stage"}}]},
    "Encoded": {"Fn::Base64": "x"},
    "Zones": {"Fn::GetAZs": ""},
    "Imported": {"Fn::ImportValue": "hub"},
    "Branch": {"Fn::If": ["Either", {"Fn::If": ["Both", 1, 2]}, 3]},
    "Statement": {"Condition": {"StringEquals": {"a": "b"}}}
  }}
 },
 "Outputs": {
  "Arn": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-role"}}},
  "Never": {"Value": "x", "Condition": "IsTest"}
 }
}`

func parse(t *testing.T, text string) *Template {
	t.Helper()
	parsed, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func environment() Environment {
	return Environment{Account: "123456789012", Region: "us-west-2", StackName: "joiner", Exports: map[string]string{"hub": "told"}}
}

func sampleStack(t *testing.T, env Environment) *Stack {
	t.Helper()
	s, err := parse(t, sample).With(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFunctionsResolve(t *testing.T) {
	got, err := sampleStack(t, environment()).Properties("Policy")
	if err != nil {
		t.Fatal(err)
	}
	for key, number := range got {
		if s, err := text(number); err == nil && key == "Branch" {
			got[key] = s
		}
	}
	want := map[string]any{
		"Queues": []any{"https://sqs.us-west-2.amazonaws.com/123456789012/q.fifo"}, "Joined": "a:us-west-2:7:true", "Picked": "subnet-2", "Cut": "c",
		"Found": "amazonaws.com", "Encoded": "eA==", "Imported": "told", "Branch": "2", "Zones": []any{"us-west-2a", "us-west-2b", "us-west-2c"},
		"Subbed":    "arn:aws:iam::123456789012:role/x/joiner-live live ${aws:PrincipalTag/x} 123456789012",
		"Statement": map[string]any{"Condition": map[string]any{"StringEquals": map[string]any{"a": "b"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestWhatIsMadeDependsOnConditions(t *testing.T) {
	env := environment()
	for stage, want := range map[string][]string{"live": {"Dead", "Role", "Queue", "Policy"}, "test": {"Dead", "OnlyTest", "Role", "Queue", "Policy"}} {
		env.Parameters = map[string]string{"Stage": stage}
		s := sampleStack(t, env)
		got, err := s.Order()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range got {
			if !s.Made(id) {
				t.Errorf("stage %s: %s is in the order and not made", stage, id)
			}
		}
		place := map[string]int{}
		for i, id := range got {
			place[id] = i
		}
		if len(got) != len(want) || place["Dead"] > place["Queue"] || place["Role"] > place["Policy"] || stage == "test" && place["OnlyTest"] > place["Role"] {
			t.Errorf("stage %s: order %v, want one like %v", stage, got, want)
		}
		outputs, err := s.OutputValues()
		if _, never := outputs["Never"]; err != nil || never != (stage == "test") {
			t.Errorf("stage %s: outputs %v, %v", stage, outputs, err)
		}
		exports, err := s.ExportValues()
		if err != nil || !reflect.DeepEqual(exports, map[string]string{"joiner-role": "arn:aws:iam::123456789012:role/x/joiner-" + stage}) {
			t.Errorf("stage %s: exports %v, %v", stage, exports, err)
		}
	}
}

func TestNamesWithoutOneOfTheirOwn(t *testing.T) {
	s := sampleStack(t, environment())
	got, err := s.Attribute("Dead", "Arn")
	if want := "arn:aws:sqs:us-west-2:123456789012:joiner-Dead.fifo"; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	resource := func(properties string) string {
		return `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"P": ` + properties + `}}, "Off": {"Type": "AWS::SQS::Queue", "Condition": "No"}, "Made": {"Type": "AWS::SQS::Queue"}},
		  "Conditions": {"No": {"Fn::Equals": ["a", "b"]}}, "Parameters": {"Asked": {"Type": "String"}}}`
	}
	for name, c := range map[string]struct{ template, want string }{
		"no resources":            {`{}`, "no Resources"},
		"an unknown section":      {`{"Hooks": {}, "Resources": {}}`, "Hooks"},
		"a rule":                  {`{"Rules": {"Mine": {}}, "Resources": {}}`, "Mine"},
		"another format":          {`{"AWSTemplateFormatVersion": "2011", "Resources": {}}`, "2011"},
		"an unknown attribute":    {`{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "UpdatePolicy": {}}}}`, "UpdatePolicy"},
		"no type":                 {`{"Resources": {"Q": {}}}`, "Q: it has no Type"},
		"an unknown function":     {resource(`{"Fn::Cidr": ["10.0.0.0/8", 1, 8]}`), "Fn::Cidr: this function is not known"},
		"an unknown name":         {resource(`{"Ref": "Nobody"}`), "Nobody is neither"},
		"what is not made":        {resource(`{"Ref": "Off"}`), "Off, which is not made"},
		"an unknown attribute of": {resource(`{"Fn::GetAtt": ["Made", "Colour"]}`), "attribute Colour"},
		"a missing parameter":     {resource(`{"Ref": "Asked"}`), "neither a value nor a default"},
		"an index too large":      {resource(`{"Fn::Select": [3, ["a"]]}`), "no item 3"},
		"a missing export":        {resource(`{"Fn::ImportValue": "x"}`), "no stack exports x"},
		"a condition like that":   {resource(`{"Fn::If": ["Maybe", 1, 2]}`), "no condition Maybe"},
		"an unknown type":         {`{"Resources": {"V": {"Type": "AWS::EC2::VPC"}, "Q": {"Type": "AWS::SQS::Queue", "Properties": {"P": {"Ref": "V"}}}}}`, "AWS::EC2::VPC are not known"},
		"a circle":                {`{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "DependsOn": "R"}, "R": {"Type": "AWS::SQS::Queue", "Properties": {"P": {"Ref": "Q"}}}}}`, "depends on itself"},
		"a circle of conditions":  {`{"Conditions": {"A": {"Fn::Not": [{"Condition": "A"}]}}, "Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}`, "depends on itself"},
	} {
		t.Run(name, func(t *testing.T) {
			err := everything(c.template)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// everything parses a template and resolves all of it.
func everything(template string) error {
	parsed, err := Parse([]byte(template))
	if err != nil {
		return err
	}
	s, err := parsed.With(Environment{Account: "1", Region: "r", StackName: "s"}, nil)
	if err != nil {
		return err
	}
	order, err := s.Order()
	if err != nil {
		return err
	}
	for _, id := range order {
		if _, err := s.Properties(id); err != nil {
			return err
		}
	}
	return parsed.CheckTypes()
}

func TestParametersAreChecked(t *testing.T) {
	env := environment()
	env.Parameters = map[string]string{"Stage": "other"}
	if _, err := parse(t, sample).With(env, nil); err == nil || !strings.Contains(err.Error(), "must be one of") {
		t.Errorf("a value that is not allowed: %v", err)
	}
	env.Parameters = map[string]string{"Nobody": "x"}
	if _, err := parse(t, sample).With(env, nil); err == nil || !strings.Contains(err.Error(), "Nobody") {
		t.Errorf("an unknown parameter: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Fuzz(func(t *testing.T, template string) { everything(template) })
}
