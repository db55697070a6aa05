package proof

import (
	"strings"
	"testing"
)

func TestScrubTakesOutWhoAndWhere(t *testing.T) {
	s := NewScrubber()
	s.Hide("123456789012", scrubbedAccount)
	s.Hide("jane@example.com", "caller")
	for text, want := range map[string]string{
		"arn:aws:sqs:us-west-2:123456789012:q":                           "arn:aws:sqs:us-west-2:000000000000:q",
		"<SecretAccessKey>wJalr/K7MDENG+x</SecretAccessKey>":             "<SecretAccessKey>SCRUBBED</SecretAccessKey>",
		"<SessionToken>abc==</SessionToken>":                             "<SessionToken>SCRUBBED</SessionToken>",
		"<requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>":    "<requestId>SCRUBBED</requestId>",
		"denied. Encoded authorization failure message: 4fgh-_Zz and on": "denied. Encoded authorization failure message: SCRUBBED and on",
		"?X-Amz-Signature=0123abc&X-Amz-Expires=60":                      "?X-Amz-Signature=SCRUBBED&X-Amz-Expires=60",
		"token k8s-aws-v1.aHR0cHM6Ly9zdHM":                               "token k8s-aws-v1.SCRUBBED",
		"203.0.113.77 and ip-10-0-3-4.internal":                          "192.0.2.1 and ip-192-0-2-1.internal",
		"2600:1f14:abc:de00::1":                                          "2001:db8::1",
		"2a05:d014:1:2:3:4:5:6":                                          "2001:db8::1",
		"at 00:00:00, 10:30":                                             "at 00:00:00, 10:30",
		"0a:1b:2c:3d:4e:5f":                                              "02:00:00:00:00:01",
		"by jane@example.com, jane%40example.com":                        "by caller, caller",
		"602401143452": "100000000001",
		"0123456789ABCDEF0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com": "cluster.eks.invalid",
		`"data":"LS0tLS1CRUdJTiBDRVJU"`:                                    `"data":"SCRUBBED"`,
		"a plain sentence, 1.35, 12345":                                    "a plain sentence, 1.35, 12345",
		"":                                                                 "",
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestScrubKeepsEqualWhatIsEqual(t *testing.T) {
	s := NewScrubber()
	a := s.Text("i-0123456789abcdef0 vpc-0123456789abcdef0 AKIAIOSFODNN7EXAMPLE fleet-12345678-1234-1234-1234-123456789012")
	b := s.Text("i-0aaaaaaaaaaaaaaa0 i-0123456789abcdef0 fleet-12345678-1234-1234-1234-123456789012")
	first, again := strings.Fields(a), strings.Fields(b)
	if again[1] != first[0] || again[0] == first[0] || again[2] != first[3] {
		t.Errorf("%q, %q", a, b)
	}
	if twice := s.Text(a); twice != a {
		t.Errorf("scrubbed twice: %q, want %q", twice, a)
	}
	if leaks := Leaks(a + b); len(leaks) > 0 {
		t.Errorf("leaks %v", leaks)
	}
	if leaks := Leaks("123456789012 AKIAIOSFODNN7EXAMPLE 203.0.113.7"); len(leaks) != 3 {
		t.Errorf("leaks %v, want three", leaks)
	}
}

func TestReducedLeavesTheAccountsOwnBusinessOut(t *testing.T) {
	for name, c := range map[string]struct{ service, action, in, want string }{
		"tags of subnets":  {"ec2", "DescribeSubnets", "<item><subnetId>s</subnetId><tagSet><item><key>Name</key><value>secret</value></item></tagSet></item>", "<item><subnetId>s</subnetId><tagSet/></item>"},
		"names of groups":  {"ec2", "DescribeSecurityGroups", "<groupName>db</groupName><groupDescription>of db</groupDescription><ipPermissions><item/></ipPermissions>", "<groupName>group</groupName><groupDescription/><ipPermissions/>"},
		"the default name": {"ec2", "DescribeSecurityGroups", "<groupName>default</groupName>", "<groupName>default</groupName>"},
		"other tables":     {"dynamodb", "ListTables", `{"TableNames":["joiner-proof-r1-table","payroll"]}`, `{"TableNames":["joiner-proof-r1-table"]}`},
		"other principals": {"eks", "ListAccessEntries", `{"accessEntries":["arn:aws:iam::1:role/joiner-proof/a","arn:aws:iam::1:role/admin"]}`, `{"accessEntries":["arn:aws:iam::1:role/joiner-proof/a"]}`},
		"a cluster":        {"eks", "DescribeCluster", `{"cluster":{"endpoint":"e","tags":{"team":"x"},"roleArn":"r"}}`, `{"cluster":{"endpoint":"e"}}`},
		"an error":         {"eks", "DescribeCluster", `not JSON`, `not JSON`},
		"anything else":    {"sqs", "ReceiveMessage", `{"a":1}`, `{"a":1}`},
	} {
		if got := reduced(c.service, c.action, c.in); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
