package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// draw makes documents and requests of few words, so that they often have to do with each other.
type draw struct{ *rand.Rand }

func pick[T any](d draw, values ...T) T { return values[d.IntN(len(values))] }

func (d draw) list(values ...string) string {
	var out []string
	for range 1 + d.IntN(2) {
		out = append(out, fmt.Sprintf("%q", pick(d, values...)))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func (d draw) condition() string {
	base := pick(d, "StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "StringEqualsIgnoreCase")
	if d.IntN(4) == 0 {
		return fmt.Sprintf(`"Null": {"aws:PrincipalTag/%s": "%v"}`, pick(d, "a", "b"), d.IntN(2) == 0)
	}
	if d.IntN(3) == 0 {
		return fmt.Sprintf(`"%s:%s": {"aws:CalledVia": %s}`, pick(d, "ForAllValues", "ForAnyValue"), base, d.list("a", "b", "*"))
	}
	return fmt.Sprintf(`"%s%s": {"aws:PrincipalTag/%s": %s}`, base, pick(d, "", "IfExists"), pick(d, "a", "b"), d.list("x", "y", "X*", "?", "${aws:PrincipalTag/b}"))
}

func (d draw) statement(effect string, resource bool) string {
	s := fmt.Sprintf(`{"Effect": %q, %q: %s, %q: %s`, effect,
		pick(d, "Action", "Action", "Action", "NotAction"), d.list("sqs:SendMessage", "sqs:Send*", "sqs:*", "sqs:ReceiveMessage", "s3:GetObject"),
		pick(d, "Resource", "Resource", "Resource", "NotResource"), d.list(queue, queue+"*", "arn:aws:sqs:*:*:other", "arn:aws:sqs:us-west-2:123456789012:*"))
	if resource {
		s += fmt.Sprintf(`, "Principal": %s`, pick(d, `"*"`, `{"AWS": "123456789012"}`, `{"AWS": "`+roleARN+`"}`, `{"AWS": "`+roleARN+`s"}`, `{"AWS": "arn:aws:sts::123456789012:assumed-role/reaper/session"}`, `{"Service": "events.amazonaws.com"}`))
	}
	if d.IntN(2) == 0 {
		s += `, "Condition": {` + d.condition() + `}`
	}
	return s + "}"
}

func (d draw) statements(resource bool) []string {
	var out []string
	for range 1 + d.IntN(3) {
		out = append(out, d.statement(pick(d, "Allow", "Allow", "Deny"), resource))
	}
	return out
}

func document(statements ...string) string {
	return `{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ",") + `]}`
}

func (d draw) request() Request {
	r := Request{
		Principal: pick(d, Role(roleARN), Role(roleARN), Role("arn:aws:iam::999999999999:role/reaper")), Account: "123456789012",
		Action: pick(d, "sqs:SendMessage", "sqs:ReceiveMessage"), Resource: pick(d, queue, queue+"2", "arn:aws:sqs:us-west-2:123456789012:other"),
		Context: Context{},
	}
	for _, key := range []string{"a", "b"} {
		if d.IntN(2) == 0 {
			r.Context["aws:principaltag/"+key] = []string{pick(d, "x", "X", "y", "Xyz")}
			r.Context["aws:calledvia"] = append(r.Context["aws:calledvia"], key)
		}
	}
	return r
}

// sample is one question with the statements of whoever has a say.
type sample struct {
	request                      Request
	identity, boundary, resource []string // nil: there is none
}

func (d draw) sample() sample {
	s := sample{request: d.request(), identity: d.statements(false)}
	if d.IntN(3) == 0 {
		s.boundary = d.statements(false)
	}
	if d.IntN(2) == 0 {
		s.resource = d.statements(true)
	}
	return s
}

func (s sample) decide(t testing.TB) Decision {
	p := Policies{Identity: []Attached{*must(t, Identity, document(s.identity...))}}
	if s.boundary != nil {
		p.Boundary = must(t, Identity, document(s.boundary...))
	}
	if s.resource != nil {
		p.Resource = must(t, Resource, document(s.resource...))
	}
	return Decide(s.request, p)
}

func samples(t *testing.T, n int, check func(draw, sample, Decision)) {
	allowed := 0
	for seed := range uint64(n) {
		d := draw{rand.New(rand.NewPCG(seed, 1))}
		s := d.sample()
		got := s.decide(t)
		if got.Allowed() {
			allowed++
		}
		check(d, s, got)
		if t.Failed() {
			t.Fatalf("seed %d: %+v: %v", seed, s, got)
		}
	}
	if allowed < n/20 || allowed > n*19/20 {
		t.Errorf("%d of %d requests are allowed: the samples show little", allowed, n)
	}
}

const drawn = 4000

// TestMoreDeniesAllowNothingMore: a deny more, wherever, never allows what was refused.
func TestMoreDeniesAllowNothingMore(t *testing.T) {
	samples(t, drawn, func(d draw, s sample, before Decision) {
		s.identity = append(s.identity, d.statement("Deny", false))
		if s.boundary != nil {
			s.boundary = append(s.boundary, d.statement("Deny", false))
		}
		if s.resource != nil {
			s.resource = append(s.resource, d.statement("Deny", true))
		}
		if after := s.decide(t); after.Allowed() && !before.Allowed() {
			t.Errorf("with denies more it is allowed: %v", after)
		}
	})
}

// TestMoreAllowsRefuseNothingMore: an allow more, wherever, never refuses what was allowed.
func TestMoreAllowsRefuseNothingMore(t *testing.T) {
	samples(t, drawn, func(d draw, s sample, before Decision) {
		s.identity = append(s.identity, d.statement("Allow", false))
		s.resource = append(s.resource, d.statement("Allow", true))
		if after := s.decide(t); !after.Allowed() && before.Allowed() {
			t.Errorf("with allows more it is refused: %v", after)
		}
	})
}

// TestOrderOfStatementsIsNothing, and neither is it anything in how many documents they are.
func TestOrderOfStatementsIsNothing(t *testing.T) {
	samples(t, drawn, func(d draw, s sample, before Decision) {
		d.Shuffle(len(s.identity), func(i, j int) { s.identity[i], s.identity[j] = s.identity[j], s.identity[i] })
		var apart Policies
		for _, one := range s.identity {
			apart.Identity = append(apart.Identity, *must(t, Identity, document(one)))
		}
		if s.boundary != nil {
			apart.Boundary = must(t, Identity, document(s.boundary...))
		}
		if s.resource != nil {
			apart.Resource = must(t, Resource, document(s.resource...))
		}
		if after := Decide(s.request, apart); after.Reason != before.Reason {
			t.Errorf("in another order: %v", after)
		}
	})
}

// TestNothingIsAllowedByNobody: what is allowed is allowed by a statement, and by none that denies.
func TestNothingIsAllowedByNobody(t *testing.T) {
	samples(t, drawn, func(_ draw, _ sample, got Decision) {
		if got.Allowed() && len(got.By) == 0 || got.Reason == ExplicitDeny && len(got.By) != 1 {
			t.Errorf("decided by %v", got.By)
		}
	})
}

// TestWildcards compares the matcher of wildcards with the plain definition of them.
func TestWildcards(t *testing.T) {
	var naive func(p, s string) bool
	naive = func(p, s string) bool {
		switch {
		case p == "":
			return s == ""
		case p[0] == '*':
			return naive(p[1:], s) || s != "" && naive(p, s[1:])
		}
		return s != "" && (p[0] == '?' || p[0] == s[0]) && naive(p[1:], s[1:])
	}
	d := draw{rand.New(rand.NewPCG(1, 1))}
	word := func(letters string) string {
		var b strings.Builder
		for range d.IntN(8) {
			b.WriteByte(letters[d.IntN(len(letters))])
		}
		return b.String()
	}
	matched := 0
	for range 50_000 {
		p, s := word("ab**?"), word("ab")
		parsed, err := parsePattern(p, true)
		if err != nil {
			t.Fatal(err)
		}
		got := parsed.matches(s)
		if want := naive(p, s); got != want {
			t.Fatalf("%q on %q: got %v, want %v", p, s, got, want)
		}
		if got {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched", matched)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(statement("Allow", "sqs:SendMessage", queue, `, "Condition": {"StringLike": {"aws:RequestTag/a": "${aws:username, 'x'}"}}`))
	f.Add(statement("Deny", "*", "*", `, "Principal": {"AWS": "*"}`))
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Kind{Identity, Resource, Trust} {
			d, err := Parse([]byte(text), kind)
			if err == nil {
				Decide(Request{Principal: Role(roleARN), Action: "a:b", Resource: queue}, Policies{Identity: []Attached{{Document: d}}})
			}
		}
	})
}
