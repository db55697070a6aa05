package policy

import (
	"fmt"
	"strings"
	"testing"
)

const (
	roleARN = "arn:aws:iam::123456789012:role/reaper"
	queue   = "arn:aws:sqs:us-west-2:123456789012:plan"
)

func must(t testing.TB, kind Kind, text string) *Attached {
	t.Helper()
	d, err := Parse([]byte(text), kind)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return &Attached{Name: []string{"identity", "resource", "trust"}[kind], Document: d}
}

// statement makes a document of one statement; rest are more elements, each with a comma before it.
func statement(effect, action, resource, rest string) string {
	return fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Sid": "S", "Effect": %q, "Action": %q, "Resource": %q%s}]}`, effect, action, resource, rest)
}

func principalOf(kind, value string) string {
	return fmt.Sprintf(`, "Principal": {%q: %q}`, kind, value)
}

// TestEvaluationLogic goes through the table of the user guide's "Policy evaluation logic": who has to allow what, in an account
// and between two.
func TestEvaluationLogic(t *testing.T) {
	allow := statement("Allow", "sqs:SendMessage", queue, "")
	deny := statement("Deny", "sqs:*", "*", "")
	other := statement("Allow", "sqs:ReceiveMessage", queue, "")
	grants := func(kind, value string) string {
		return statement("Allow", "sqs:SendMessage", queue, principalOf(kind, value))
	}
	session := "arn:aws:sts::123456789012:assumed-role/reaper/session"
	role, stranger := Role(roleARN), Role("arn:aws:iam::999999999999:role/reaper")
	for name, c := range map[string]struct {
		who                         Principal
		identity, boundary, session string
		resource                    string
		needed                      bool
		want                        Reason
	}{
		"nothing speaks of it":                       {who: role, want: NoIdentityAllow},
		"identity allows":                            {who: role, identity: allow, want: Granted},
		"identity denies, resource allows":           {who: role, identity: deny, resource: grants("AWS", roleARN), want: ExplicitDeny},
		"resource denies, identity allows":           {who: role, identity: allow, resource: statement("Deny", "*", "*", `, "Principal": "*"`), want: ExplicitDeny},
		"resource denies somebody else":              {who: role, identity: allow, resource: statement("Deny", "*", "*", principalOf("AWS", roleARN+"s")), want: Granted},
		"resource alone, to the role":                {who: role, resource: grants("AWS", roleARN), want: Granted},
		"resource alone, to everyone":                {who: role, resource: grants("AWS", "*"), want: Granted},
		"resource alone, to the account":             {who: role, resource: grants("AWS", "123456789012"), want: NoIdentityAllow},
		"resource to another role":                   {who: role, resource: grants("AWS", roleARN+"s"), want: NoIdentityAllow},
		"boundary allows something else":             {who: role, identity: allow, boundary: other, want: NoBoundaryAllow},
		"boundary and identity allow":                {who: role, identity: allow, boundary: allow, want: Granted},
		"boundary alone grants nothing":              {who: role, boundary: allow, want: NoIdentityAllow},
		"boundary denies":                            {who: role, identity: allow, boundary: deny, want: ExplicitDeny},
		"boundary limits what a role is granted":     {who: role, boundary: other, resource: grants("AWS", roleARN), want: NoIdentityAllow},
		"boundary does not limit a session's grant":  {who: role, boundary: other, resource: grants("AWS", session), want: Granted},
		"boundary denies a session's grant":          {who: role, boundary: deny, resource: grants("AWS", session), want: ExplicitDeny},
		"boundary does not limit everyone's grant":   {who: role, boundary: other, resource: grants("AWS", "*"), want: Granted},
		"session policy allows something else":       {who: role, identity: allow, session: other, want: NoSessionAllow},
		"session policy and identity allow":          {who: role, identity: allow, session: allow, want: Granted},
		"another account, identity only":             {who: stranger, identity: allow, want: NoResourceAllow},
		"another account, resource only":             {who: stranger, resource: grants("AWS", "arn:aws:iam::999999999999:role/reaper"), want: NoIdentityAllow},
		"another account, both":                      {who: stranger, identity: allow, resource: grants("AWS", "999999999999"), want: Granted},
		"another account, both, boundary not":        {who: stranger, identity: allow, boundary: other, resource: grants("AWS", "999999999999"), want: NoBoundaryAllow},
		"a service, nothing":                         {who: Service("events.amazonaws.com"), want: NoResourceAllow},
		"a service that is named":                    {who: Service("events.amazonaws.com"), resource: grants("Service", "events.amazonaws.com"), want: Granted},
		"a service that is not":                      {who: Service("sns.amazonaws.com"), resource: grants("Service", "events.amazonaws.com"), want: NoResourceAllow},
		"the account is no service":                  {who: Service("events.amazonaws.com"), resource: grants("AWS", "123456789012"), want: NoResourceAllow},
		"root":                                       {who: Principal{ARN: "arn:aws:iam::123456789012:root", Account: "123456789012"}, want: Granted},
		"root is denied by resources":                {who: Principal{ARN: "arn:aws:iam::123456789012:root", Account: "123456789012"}, resource: statement("Deny", "*", "*", `, "Principal": "*"`), want: ExplicitDeny},
		"resource's word is needed, and missing":     {who: role, identity: allow, needed: true, want: NoResourceAllow},
		"resource's word is needed, to the account":  {who: role, identity: allow, needed: true, resource: grants("AWS", "arn:aws:iam::123456789012:root"), want: Granted},
		"resource's word is needed, account alone":   {who: role, needed: true, resource: grants("AWS", "123456789012"), want: NoIdentityAllow},
		"resource's word is needed, and names role":  {who: role, needed: true, resource: grants("AWS", roleARN), want: Granted},
		"a user is granted in spite of its boundary": {who: Principal{ARN: "arn:aws:iam::123456789012:user/u", Account: "123456789012"}, boundary: other, resource: grants("AWS", "arn:aws:iam::123456789012:user/u"), want: Granted},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policies{Needed: c.needed}
			if c.identity != "" {
				p.Identity = []Attached{*must(t, Identity, c.identity)}
			}
			if c.boundary != "" {
				p.Boundary = must(t, Identity, c.boundary)
			}
			if c.session != "" {
				p.Session = must(t, Identity, c.session)
			}
			if c.resource != "" {
				p.Resource = must(t, Resource, c.resource)
			}
			got := Decide(Request{Principal: c.who, Action: "sqs:SendMessage", Resource: queue, Account: "123456789012"}, p)
			if got.Reason != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestDecisionsNameTheirStatements(t *testing.T) {
	document := must(t, Identity, `{"Version": "2012-10-17", "Statement": [
	  {"Sid": "Send", "Effect": "Allow", "Action": ["sqs:GetQueueUrl", "sqs:Send*"], "Resource": "*"},
	  {"Effect": "Allow", "Action": "sqs:*", "Resource": "`+queue+`"},
	  {"Sid": "NotThere", "Effect": "Deny", "Action": "sqs:*", "NotResource": "`+queue+`"}]}`)
	r := Request{Principal: Role(roleARN), Action: "sqs:SendMessage", Resource: queue}
	got := Decide(r, Policies{Identity: []Attached{*document}})
	if fmt.Sprint(got.By) != "[identity/Send identity/#2]" || got.By[0].Action != "sqs:Send*" {
		t.Errorf("by %v with %q", got.By, got.By[0].Action)
	}
	r.Resource += "-other"
	got = Decide(r, Policies{Identity: []Attached{*document}})
	if got.Reason != ExplicitDeny || got.DeniedIn != "identity-based policy" || fmt.Sprint(got.By) != "[identity/NotThere]" {
		t.Errorf("got %v in %s", got, got.DeniedIn)
	}
}

// TestElements goes through actions and resources with wildcards, their opposites and variables.
func TestElements(t *testing.T) {
	context := Context{"aws:principaltag/cluster": {"a"}, "aws:principalarn": {roleARN}, "aws:principaltag/star": {"*"}}
	for _, c := range []struct {
		elements string
		want     bool
	}{
		{`"Action": "sqs:SendMessage", "Resource": "*"`, true},
		{`"Action": "SQS:sendmessage", "Resource": "*"`, true},
		{`"Action": "*", "Resource": "*"`, true},
		{`"Action": "sqs:Send?essage", "Resource": "*"`, true},
		{`"Action": "sqs:Send?", "Resource": "*"`, false},
		{`"Action": "sq:*", "Resource": "*"`, false},
		{`"Action": ["sns:*", "sqs:*"], "Resource": "*"`, true},
		{`"NotAction": "sqs:*", "Resource": "*"`, false},
		{`"NotAction": "sns:*", "Resource": "*"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:plan"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:us-*-2:123456789012:*"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:us-west-2:123456789012:PLAN"`, false},
		{`"Action": "*", "Resource": "arn:*:sqs:*:12345678901?:p*n"`, true},
		{`"Action": "*", "Resource": "arn:aws:sns:*:*:*"`, false},
		{`"Action": "*", "Resource": ["arn:aws:sqs:::x", "arn:aws:sqs:*:*:plan"]`, true},
		{`"Action": "*", "NotResource": "arn:aws:sqs:*:*:plan"`, false},
		{`"Action": "*", "NotResource": "arn:aws:sqs:*:*:other"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:pl${aws:PrincipalTag/cluster}n"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:pl${aws:principaltag/CLUSTER}n"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:pl${aws:PrincipalTag/none}n"`, false},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:pl${aws:PrincipalTag/none, 'a'}n"`, true},
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:${aws:PrincipalTag/star}"`, false}, // a tag's star is a star
		{`"Action": "*", "Resource": "arn:aws:sqs:*:*:pl${*}"`, false},
		{`"Action": "*", "NotResource": "arn:aws:sqs:*:*:${aws:PrincipalTag/none}"`, false},
	} {
		d := must(t, Identity, `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", `+c.elements+`}}`)
		got := Decide(Request{Principal: Role(roleARN), Action: "sqs:SendMessage", Resource: queue, Context: context}, Policies{Identity: []Attached{*d}})
		if got.Allowed() != c.want {
			t.Errorf("%s: got %v, want %v", c.elements, got.Allowed(), c.want)
		}
	}
	old := must(t, Identity, `{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:*:*:pl${aws:PrincipalTag/cluster}n"}}`)
	r := Request{Principal: Role(roleARN), Action: "sqs:SendMessage", Resource: queue, Context: context}
	if Decide(r, Policies{Identity: []Attached{*old}}).Allowed() {
		t.Error("a document of 2008 has variables")
	}
}

func TestConditions(t *testing.T) {
	context := Context{
		"aws:requesttag/a": {"Value"}, "aws:requesttag/n": {"7"}, "aws:currenttime": {"2026-05-01T12:00:00Z"}, "aws:sourceip": {"10.1.2.3"},
		"aws:securetransport": {"false"}, "aws:sourcearn": {"arn:aws:events:us-west-2:123456789012:rule/joiner-spot"},
		"aws:tagkeys": {"a", "b"}, "dynamodb:leadingkeys": {}, "aws:principaltag/a": {"Value"}, "ec2:launchtemplate": {"a*"},
	}
	for _, c := range []struct {
		condition string
		want      bool
	}{
		{`"StringEquals": {"aws:RequestTag/a": "Value"}`, true},
		{`"StringEquals": {"aws:RequestTag/a": ["x", "Value"]}`, true},
		{`"StringEquals": {"aws:RequestTag/a": "value"}`, false},
		{`"StringEquals": {"aws:RequestTag/a": "V*"}`, false},
		{`"StringEquals": {"AWS:requesttag/A": "Value"}`, true},
		{`"StringEquals": {"aws:RequestTag/none": "x"}`, false},
		{`"StringEqualsIfExists": {"aws:RequestTag/none": "x"}`, true},
		{`"StringEqualsIfExists": {"aws:RequestTag/a": "x"}`, false},
		{`"StringEqualsIgnoreCase": {"aws:RequestTag/a": "VALUE"}`, true},
		{`"StringNotEqualsIgnoreCase": {"aws:RequestTag/a": "VALUE"}`, false},
		{`"StringNotEquals": {"aws:RequestTag/a": ["x", "Value"]}`, false},
		{`"StringNotEquals": {"aws:RequestTag/a": ["x", "y"]}`, true},
		{`"StringNotEquals": {"aws:RequestTag/none": "x"}`, true},
		{`"StringLike": {"aws:RequestTag/a": "V?l*"}`, true},
		{`"StringLike": {"aws:RequestTag/a": "*v*"}`, false},
		{`"StringNotLike": {"aws:RequestTag/a": "V*"}`, false},
		{`"StringLike": {"aws:RequestTag/none": "*"}`, false},
		{`"StringEquals": {"aws:RequestTag/a": "${aws:PrincipalTag/a}"}`, true},
		{`"StringEquals": {"aws:RequestTag/a": "${aws:PrincipalTag/none}"}`, false},
		{`"StringEquals": {"ec2:LaunchTemplate": "a${*}"}`, true},
		{`"StringLike": {"ec2:LaunchTemplate": "a${*}"}`, true},
		{`"StringLike": {"aws:RequestTag/a": "Valu${*}"}`, false},
		{`"StringEquals": {"aws:RequestTag/a": "Value", "aws:RequestTag/n": "8"}`, false},
		{`"StringEquals": {"aws:RequestTag/a": "Value"}, "NumericEquals": {"aws:RequestTag/n": 7}`, true},
		{`"NumericEquals": {"aws:RequestTag/n": "7.0"}`, true},
		{`"NumericNotEquals": {"aws:RequestTag/n": 7}`, false},
		{`"NumericLessThan": {"aws:RequestTag/n": 7}`, false},
		{`"NumericLessThanEquals": {"aws:RequestTag/n": 7}`, true},
		{`"NumericGreaterThan": {"aws:RequestTag/n": 6}`, true},
		{`"NumericGreaterThanEquals": {"aws:RequestTag/n": 8}`, false},
		{`"NumericEquals": {"aws:RequestTag/a": 7}`, false},
		{`"DateLessThan": {"aws:CurrentTime": "2026-05-02"}`, true},
		{`"DateGreaterThan": {"aws:CurrentTime": "2026-05-01T12:00:00Z"}`, false},
		{`"DateGreaterThanEquals": {"aws:CurrentTime": "1777636800"}`, true},
		{`"DateEquals": {"aws:CurrentTime": "2026-05-01T14:00:00+02:00"}`, true},
		{`"DateNotEquals": {"aws:CurrentTime": "2026-05-01T12:00Z"}`, false},
		{`"Bool": {"aws:SecureTransport": "false"}`, true},
		{`"Bool": {"aws:SecureTransport": false}`, true},
		{`"Bool": {"aws:SecureTransport": "true"}`, false},
		{`"Bool": {"aws:ViaAWSService": "false"}`, false},
		{`"BoolIfExists": {"aws:ViaAWSService": "false"}`, true},
		{`"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}`, true},
		{`"IpAddress": {"aws:SourceIp": ["192.168.0.0/16", "10.1.2.3"]}`, true},
		{`"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}`, false},
		{`"ArnEquals": {"aws:SourceArn": "arn:aws:events:us-west-2:123456789012:rule/joiner-spot"}`, true},
		{`"ArnLike": {"aws:SourceArn": "arn:aws:events:*:123456789012:rule/joiner-*"}`, true},
		{`"ArnEquals": {"aws:SourceArn": "arn:aws:events:*:*:rule/joiner-s?ot"}`, true},
		{`"ArnLike": {"aws:SourceArn": "arn:aws:events:*:rule/joiner-spot:x"}`, false},
		{`"ArnNotLike": {"aws:SourceArn": "arn:aws:events:*:*:rule/other"}`, true},
		{`"ArnNotEquals": {"aws:PrincipalArn": "arn:aws:iam::1:role/x"}`, true},
		{`"Null": {"aws:RequestTag/none": "true"}`, true},
		{`"Null": {"aws:RequestTag/a": "true"}`, false},
		{`"Null": {"aws:RequestTag/a": "false"}`, true},
		{`"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b", "c"]}`, true},
		{`"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "c"]}`, false},
		{`"ForAnyValue:StringEquals": {"aws:TagKeys": ["b", "c"]}`, true},
		{`"ForAnyValue:StringEquals": {"aws:TagKeys": ["c", "d"]}`, false},
		{`"ForAllValues:StringNotEquals": {"aws:TagKeys": ["c", "d"]}`, true},
		{`"ForAllValues:StringNotEquals": {"aws:TagKeys": ["b", "d"]}`, false},
		{`"ForAnyValue:StringNotEquals": {"aws:TagKeys": ["b", "d"]}`, true},
		{`"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "C#*"}`, true}, // nothing to look at
		{`"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": "C#*"}`, false},
		{`"ForAllValues:StringEquals": {"aws:CalledVia": "x"}`, true}, // not there at all
		{`"ForAnyValue:StringEquals": {"aws:CalledVia": "x"}`, false},
		{`"ForAnyValue:StringEqualsIfExists": {"aws:CalledVia": "x"}`, true},
	} {
		d := must(t, Identity, statement("Allow", "sqs:SendMessage", "*", `, "Condition": {`+c.condition+`}`))
		got := Decide(Request{Principal: Role(roleARN), Action: "sqs:SendMessage", Resource: queue, Context: context}, Policies{Identity: []Attached{*d}})
		if got.Allowed() != c.want {
			t.Errorf("%s: got %v, want %v", c.condition, got.Allowed(), c.want)
		}
	}
}

func TestTrustPolicies(t *testing.T) {
	trust := must(t, Trust, `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
	  "Principal": {"AWS": "arn:aws:iam::111111111111:role/joiner-provision"}, "Condition": {"StringEquals": {"sts:ExternalId": "e"}}}]}`)
	assume := must(t, Identity, statement("Allow", "sts:AssumeRole", "arn:aws:iam::*:role/joiner-*-provision", ""))
	target := "arn:aws:iam::123456789012:role/joiner-a-provision"
	for name, c := range map[string]struct {
		who, id string
		want    bool
	}{
		"the function's role": {"arn:aws:iam::111111111111:role/joiner-provision", "e", true},
		"no external id":      {"arn:aws:iam::111111111111:role/joiner-provision", "", false},
		"another's":           {"arn:aws:iam::111111111111:role/joiner-provision", "f", false},
		"another role":        {"arn:aws:iam::111111111111:role/joiner-disrupt", "e", false},
		"the cluster's own":   {"arn:aws:iam::123456789012:role/joiner-provision", "e", false},
	} {
		r := Request{Principal: Role(c.who), Action: "sts:AssumeRole", Resource: target, Account: "123456789012", Context: Context{}}
		if c.id != "" {
			r.Context = r.Context.With("sts:ExternalId", c.id)
		}
		got := Decide(r, Policies{Identity: []Attached{*assume}, Resource: trust, Needed: true})
		if got.Allowed() != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		kind       Kind
		text, want string
	}{
		"a version":                   {Identity, `{"Version": "2020", "Statement": []}`, `"2020"`},
		"no statement":                {Identity, `{"Version": "2012-10-17"}`, "no Statement"},
		"an element of the document":  {Identity, `{"Statements": []}`, "Statements"},
		"an element of the statement": {Identity, statement("Allow", "a:b", "*", `, "Conditions": {}`), "Conditions"},
		"an effect":                   {Identity, statement("allow", "a:b", "*", ""), `"allow"`},
		"no action":                   {Identity, `{"Statement": {"Effect": "Allow", "Resource": "*"}}`, "Action"},
		"both actions":                {Identity, `{"Statement": {"Effect": "Allow", "Action": "a:b", "NotAction": "a:b", "Resource": "*"}}`, "either"},
		"an empty list":               {Identity, `{"Statement": {"Effect": "Allow", "Action": [], "Resource": "*"}}`, "empty"},
		"an action":                   {Identity, statement("Allow", "SendMessage", "*", ""), "no service and action"},
		"no resource":                 {Identity, `{"Statement": {"Effect": "Allow", "Action": "a:b"}}`, "Resource"},
		"a resource":                  {Identity, statement("Allow", "a:b", "joiner", ""), "neither an ARN"},
		"a service with a wildcard":   {Identity, statement("Allow", "a:b", "arn:aws:s*:::x", ""), "ARN's service"},
		"a sid":                       {Identity, `{"Statement": {"Sid": "a b", "Effect": "Allow", "Action": "a:b", "Resource": "*"}}`, "letters"},
		"the same sid":                {Identity, `{"Statement": [{"Sid": "a", "Effect": "Allow", "Action": "a:b", "Resource": "*"}, {"Sid": "a", "Effect": "Allow", "Action": "a:b", "Resource": "*"}]}`, "same Sid"},
		"a principal of an identity":  {Identity, statement("Allow", "a:b", "*", `, "Principal": "*"`), "no Principal"},
		"no principal":                {Resource, statement("Allow", "a:b", "*", ""), "must have a Principal"},
		"a principal with a wildcard": {Resource, statement("Allow", "a:b", "*", principalOf("AWS", "arn:aws:iam::123456789012:role/*")), "wildcard"},
		"a federated principal":       {Resource, statement("Allow", "a:b", "*", principalOf("Federated", "x")), `Federated "x" is none that IAM knows`},
		"NotPrincipal":                {Resource, statement("Deny", "a:b", "*", `, "NotPrincipal": "*"`), "NotPrincipal"},
		"a trust policy's resource":   {Trust, statement("Allow", "a:b", "*", `, "Principal": "*"`), "no Resource"},
		"an operator":                 {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringIs": {"aws:SourceArn": "x"}}`), "operator is not known"},
		"Null that may be missing":    {Identity, statement("Allow", "a:b", "*", `, "Condition": {"NullIfExists": {"aws:SourceArn": "true"}}`), "operator is not known"},
		"a key":                       {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringLike": {"aws:SourceArns": "x"}}`), "aws:sourcearns is not known"},
		"a tag's key without a tag":   {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringLike": {"aws:RequestTag": "x"}}`), "not known"},
		"a key of many values":        {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringLike": {"aws:TagKeys": "x"}}`), "ForAllValues"},
		"no value":                    {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringLike": {"aws:SourceArn": []}}`), "neither a value"},
		"a value that is a map":       {Identity, statement("Allow", "a:b", "*", `, "Condition": {"StringLike": {"aws:SourceArn": {}}}`), "neither a value"},
		"a number":                    {Identity, statement("Allow", "a:b", "*", `, "Condition": {"NumericEquals": {"aws:EpochTime": "x"}}`), "invalid syntax"},
		"a date":                      {Identity, statement("Allow", "a:b", "*", `, "Condition": {"DateEquals": {"aws:CurrentTime": "May"}}`), "no time"},
		"a boolean":                   {Identity, statement("Allow", "a:b", "*", `, "Condition": {"Bool": {"aws:SecureTransport": "yes"}}`), "neither true nor false"},
		"a network":                   {Identity, statement("Allow", "a:b", "*", `, "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/40"}}`), "10.0.0.0/40"},
		"an ARN":                      {Identity, statement("Allow", "a:b", "*", `, "Condition": {"ArnLike": {"aws:SourceArn": "joiner"}}`), "no ARN"},
		"a variable":                  {Identity, statement("Allow", "a:b", "arn:aws:s3:::${aws:nothing}", ""), "aws:nothing is not known"},
		"an open variable":            {Identity, statement("Allow", "a:b", "arn:aws:s3:::${aws:username", ""), "not closed"},
		"what follows":                {Identity, statement("Allow", "a:b", "*", "") + "{}", "follows"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), c.kind)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
