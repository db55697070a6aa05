package shape

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// DataVariable names the environment variable with botocore's data folder. `make conform` brings one and sets it.
const DataVariable = "JOINER_BOTOCORE_DATA"

// AnswersVariable names the environment variable that, set, has the answers alone evaluated: tests of the models themselves ask for
// what is not there on purpose.
const AnswersVariable = "JOINER_SHAPES_OF_ANSWERS"

// model returns a small service of a protocol.
func model(t *testing.T, protocol string) *Model {
	t.Helper()
	m := &Model{}
	err := json.Unmarshal(fmt.Appendf(nil, `{
		"metadata": {"protocol": %q},
		"operations": {"Make": {"input": {"shape": "In"}, "output": {"shape": "Out"}}},
		"shapes": {
			"In": {"type": "structure", "required": ["Name"], "members": {
				"Name": {"shape": "S"}, "Count": {"shape": "N", "locationName": "count"}, "Dry": {"shape": "B", "locationName": "dry", "queryName": "DryRun"},
				"Ids": {"shape": "L", "locationName": "Id"}, "Inner": {"shape": "Inner", "locationName": "inner"}}},
			"Out": {"type": "structure", "members": {"Kind": {"shape": "E", "locationName": "kind"}, "Ids": {"shape": "L", "locationName": "idSet"}, "At": {"shape": "T", "locationName": "at"}}},
			"Inner": {"type": "structure", "members": {"Kind": {"shape": "E", "locationName": "kind"}}},
			"S": {"type": "string"}, "N": {"type": "integer"}, "B": {"type": "boolean"}, "T": {"type": "timestamp"},
			"E": {"type": "string", "enum": ["one", "two"]},
			"L": {"type": "list", "member": {"shape": "S", "locationName": "item"}}}}`, protocol), m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEC2RequestsAndAnswersAreValidated(t *testing.T) {
	const answer = "<MakeResponse><requestId>r</requestId>%s</MakeResponse>"
	for name, tt := range map[string]struct {
		request, answer string
		fault           string // part of the only one; "" when there is none
	}{
		"all right":             {"Action=Make&Version=1&Name=a&Count=3&DryRun=true&Id.1=x&Id.2=y&Inner.Kind=two", "<kind>one</kind><idSet><item>i</item></idSet><at>2026-01-01T00:00:00.000Z</at>", ""},
		"empty list":            {"Name=a", "<idSet></idSet>", ""},
		"unknown member":        {"Name=a&Colour=red", "", "request.Colour: is no member"},
		"member by its name":    {"Name=a&Dry=true", "", "request.Dry: is no member"},
		"unknown inner member":  {"Name=a&Inner.Sort=two", "", "request.Inner.Sort: is no member"},
		"wrong value":           {"Name=a&Inner.Kind=three", "", `"three" is none of one, two`},
		"text for a number":     {"Name=a&Count=many", "", "request.Count"},
		"nothing required":      {"Count=1", "", "request.Name: is missing"},
		"a list without places": {"Name=a&Id.item.1=x", "", "request.Id.item: is no place"},
		"unknown element":       {"Name=a", "<colour>red</colour>", "answer.colour: is no member"},
		"wrong list element":    {"Name=a", "<idSet><member>i</member></idSet>", "answer.idSet: holds a member"},
		"wrong answer value":    {"Name=a", "<kind>three</kind>", `answer.kind: "three"`},
		"wrong time":            {"Name=a", "<at>yesterday</at>", "answer.at"},
		"element twice":         {"Name=a", "<kind>one</kind><kind>two</kind>", "answer.kind: is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got := model(t, "ec2").Evaluate(wire.Exchange{Action: "Make", Request: tt.request, Status: 200, Response: fmt.Sprintf(answer, tt.answer)})
			if tt.fault == "" && len(got) > 0 || tt.fault != "" && (len(got) != 1 || !strings.Contains(got[0], tt.fault)) {
				t.Errorf("faults %q, want %q", got, tt.fault)
			}
		})
	}
}

func TestJSONRequestsAndAnswersAreValidated(t *testing.T) {
	for name, tt := range map[string]struct{ request, answer, fault string }{
		"all right":        {`{"Name":"a","count":2,"dry":true,"Id":["x"],"inner":{"kind":"one"}}`, `{"kind":"two","at":1.5}`, ""},
		"unknown member":   {`{"Name":"a","Colour":1}`, `{}`, "request.Colour: is no member"},
		"wrong type":       {`{"Name":1}`, `{}`, "request.Name: is json.Number"},
		"missing":          {`{}`, `{}`, "request.Name: is missing"},
		"unknown answered": {`{"Name":"a"}`, `{"Kind":"one"}`, "answer.Kind: is no member"},
		"value answered":   {`{"Name":"a"}`, `{"kind":"red"}`, "answer.kind"},
	} {
		t.Run(name, func(t *testing.T) {
			got := model(t, "json").Evaluate(wire.Exchange{Action: "Make", Request: tt.request, Status: 200, Response: tt.answer})
			if tt.fault == "" && len(got) > 0 || tt.fault != "" && (len(got) != 1 || !strings.Contains(got[0], tt.fault)) {
				t.Errorf("faults %q, want %q", got, tt.fault)
			}
		})
	}
}

// A63: what a model says of lengths, ranges and patterns is asked of requests, and not of answers.
func TestA63ConstraintsAreAskedOfRequests(t *testing.T) {
	for protocol, requests := range map[string]map[string]string{
		"json": {
			`{"Name":"ab","count":3,"Id":["x"]}`:        "",
			`{"Name":"a","count":3}`:                    "request.Name: 1 characters, not at least 2 and at most 5",
			`{"Name":"\u00e4\u00f6\u00fc\u00e4\u00f6"}`: `request.Name: "äöüäö" does not fit [a-z]+`,
			`{"Name":"abcdef"}`:                         "request.Name: 6 characters",
			`{"Name":"ab","count":11}`:                  "request.count: 11 is not at most 10",
			`{"Name":"ab","Id":["x","y","z"]}`:          "request.Id: 3 entries, not at most 2",
			`{"Name":"ab","Id":["xyzxyz"]}`:             "request.Id[0]: 6 characters",
		},
		"ec2": {
			"Name=ab&Count=3&Id.1=ab":       "",
			"Name=a":                        "request.Name: 1 characters, not at least 2 and at most 5",
			"Name=AB":                       `request.Name: "AB" does not fit [a-z]+`,
			"Name=ab&Count=11":              "request.Count: 11 is not at most 10",
			"Name=ab&Id.1=x&Id.2=y&Id.3=zz": "request.Id: 3 entries, not at most 2",
		},
	} {
		m := model(t, protocol)
		low, five, ten, two := 2.0, 5.0, 10.0, 2.0
		m.Shapes["S"] = &shape{Type: "string", Min: &low, Max: &five, Pattern: "[a-z]+"}
		m.Shapes["N"].Max, m.Shapes["L"].Max = &ten, &two
		m.Shapes["L"].Member.Shape = "T2"
		m.Shapes["T2"] = &shape{Type: "string", Max: &five}
		answer := map[string]string{"json": `{"Id":["a","b","c"]}`, "ec2": "<MakeResponse><idSet><item>a</item><item>b</item><item>c</item></idSet></MakeResponse>"}[protocol]
		if protocol == "json" {
			answer = `{"idSet":["abcdefg","b","c"]}`
		}
		for request, want := range requests {
			got := m.Evaluate(wire.Exchange{Action: "Make", Request: request, Status: 200, Response: answer})
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
				t.Errorf("%s %s: faults %q, want %q", protocol, request, got, want)
			}
		}
	}
}

func TestQueryListsStandUnderMember(t *testing.T) {
	m := model(t, "query")
	m.Shapes["L"].Member.LocationName = ""
	for request, want := range map[string]int{"Name=a&Id.member.1=x": 0, "Name=a&Id.1=x": 1} {
		e := wire.Exchange{Action: "Make", Request: request, Status: 200, Response: "<MakeResponse><MakeResult><idSet><member>i</member></idSet></MakeResult><ResponseMetadata/></MakeResponse>"}
		if got := m.Evaluate(e); len(got) != want {
			t.Errorf("%s: faults %q, want %d", request, got, want)
		}
	}
	if got := m.Evaluate(wire.Exchange{Action: "Break"}); len(got) != 1 {
		t.Errorf("an operation there is not: %q", got)
	}
}

// isKnown reports whether a fault begins as a known one does.
func isKnown(fault string) bool {
	for begins := range known {
		if strings.HasPrefix(fault, begins) {
			return true
		}
	}
	return false
}

// known is where EC2 itself does not keep to the model, and where the model is older than the SDK.
var known = map[string]string{
	`ec2 CreateFleet answer.errorSet[*].lifecycle: "capacity-block"`:                                        "the SDK knows it, this botocore does not yet",
	`ec2 CreateFleet answer.fleetInstanceSet[*].lifecycle: "capacity-block"`:                                "the SDK knows it, this botocore does not yet",
	`ec2 CreateFleet answer.errorSet[*].launchTemplateAndOverrides.overrides.instanceType: "m5.gigantic"`:   "an answer names what was asked for",
	"ec2 CreateFleet answer.fleetInstanceSet[*].availabilityZone: is no member":                             "the SDK knows it, this botocore does not yet",
	"ec2 CreateFleet answer.fleetInstanceSet[*].availabilityZoneId: is no member":                           "the SDK knows it, this botocore does not yet",
	"ec2 CreateFleet answer.fleetInstanceSet[*].subnetId: is no member":                                     "the SDK knows it, this botocore does not yet",
	"ec2 DescribeFleets answer.fleetSet[*].fleetInstanceSet[*].availabilityZone: is no member":              "the SDK knows it, this botocore does not yet",
	"ec2 DescribeFleets answer.fleetSet[*].fleetInstanceSet[*].availabilityZoneId: is no member":            "the SDK knows it, this botocore does not yet",
	"ec2 DescribeFleets answer.fleetSet[*].fleetInstanceSet[*].subnetId: is no member":                      "the SDK knows it, this botocore does not yet",
	`ec2 DescribeImages answer.imagesSet[*].platform: "windows" is none of Windows`:                         "EC2 answers in lower case",
	`ec2 DescribeInstances answer.reservationSet[*].instancesSet[*].platform: "windows" is none of Windows`: "EC2 answers in lower case",
	`ec2 RunInstances answer.instancesSet[*].platform: "windows" is none of Windows`:                        "EC2 answers in lower case",
}

// place is where something stands in a list: like faults count as one.
var place = regexp.MustCompile(`([.\[])\d+([.\]])`)

// TestRecordedExchangesHaveTheShapeOfTheirServices evaluates what tests of the adapters have said to our models of AWS and
// what those answered.
func TestRecordedExchangesHaveTheShapeOfTheirServices(t *testing.T) {
	data, path := os.Getenv(DataVariable), os.Getenv(wire.RecordVariable)
	if data == "" || path == "" {
		t.Skipf("%s and %s are not set: `make conform` brings botocore's models and a record", DataVariable, wire.RecordVariable)
	}
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	models, faults, seen := map[string]*Model{}, map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e wire.Exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("read the record: %v", err)
		}
		if models[e.Service] == nil {
			if models[e.Service], err = Load(data, e.Service); err != nil {
				t.Fatal(err)
			}
		}
		seen[e.Service+" "+e.Action]++
		for _, f := range models[e.Service].Evaluate(e) {
			if os.Getenv(AnswersVariable) != "" && !strings.HasPrefix(f, "answer") {
				continue
			}
			faults[e.Service+" "+e.Action+" "+place.ReplaceAllString(f, "$1*$2")]++
		}
	}
	if err := lines.Err(); err != nil || len(seen) < 10 {
		t.Fatalf("the record has %d operations only, %v", len(seen), err)
	}
	maps.DeleteFunc(faults, func(f string, _ int) bool { return isKnown(f) })
	for _, f := range slices.Sorted(maps.Keys(faults)) {
		t.Errorf("%s (%d times)", f, faults[f])
	}
	t.Logf("judged: %v", seen)
}
