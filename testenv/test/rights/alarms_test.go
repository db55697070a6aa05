package rights

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

// M87: where people want that, who disrupts may read the alarms of the region, and change none. Nobody else may, and
// without the option nobody.
func TestM87AlarmsAreReadByWhoDisruptsAlone(t *testing.T) {
	boundary, err := policy.Parse([]byte(`{"Version": "2012-10-17",
		"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	const read = "cloudwatch:DescribeAlarms"
	for file, option := range map[string]bool{
		"cluster-hardened.json": true, "cluster-adopters.json": true, "cluster.json": false,
	} {
		book := newBook()
		stack := open(t, file, demo, environment("joiner-cluster-"+demo))
		named := rights.Boundaries{"arn:aws:iam::111111111111:policy/boundary": boundary}
		if _, err := rights.Add(book, stack, named); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			program, action string
			keys            map[string][]string
			allow           bool
		}{
			"reads alarms":             {"disrupt", read, nil, option},
			"of another region":        {"disrupt", read, keys("aws:RequestedRegion", "eu-west-1"), false},
			"sets an alarm off":        {"disrupt", "cloudwatch:SetAlarmState", nil, false},
			"deletes alarms":           {"disrupt", "cloudwatch:DeleteAlarms", nil, false},
			"who launches":             {"provision", read, nil, false},
			"who terminates":           {"interruption", read, nil, false},
			"who reads instance types": {"catalog", read, nil, false},
		} {
			asked := wire.Access{Action: c.action, Resource: "*", Context: c.keys}
			got := book.Decide(principal(ofCluster(c.program)), asked)
			if got.Allowed() != c.allow {
				t.Errorf("%s: %s: %v, want allowed = %v", file, name, got, c.allow)
			}
		}
	}
}
