package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Kind is what a document is attached to.
type Kind int

// Kinds of documents.
const (
	Identity Kind = iota // of a role; a boundary and a session's policy are written alike
	Resource             // of a queue, a bucket, a function: it names principals
	Trust                // of a role: who may assume it; it names principals and no resources
)

// Document is a parsed policy.
type Document struct {
	Kind       Kind
	Version    string // "2012-10-17" or "2008-10-17"
	Statements []Statement
}

// Statement is one of a document's statements.
type Statement struct {
	Sid       string // "" when it has none
	Deny      bool
	Actions   []string // as written
	NotAction bool     // Actions are those it does not name
	Resources []string // as written; empty in a trust policy
	// NotResource says that Resources are those the statement does not name.
	NotResource bool

	actions    []pattern // lower case
	resources  []pattern
	parts      [][]pattern // of each resource that has no variables, else nil: its ARN's
	principals []principal // empty in an identity policy
	conditions []condition // all have to hold
}

// principal is one that a statement names.
type principal struct {
	everyone bool
	account  string // twelve digits: all of an account that its own policies let
	arn      string // of a role, a user or a session
	service  string
	provider string // ARN of an OIDC provider: whoever brings a token of it
}

// Parse reads a document. Everything that is not evaluated here is an error that names the statement and the element.
func Parse(text []byte, kind Kind) (*Document, error) {
	var raw struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if err := strictly(text, &raw); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	d := &Document{Kind: kind, Version: raw.Version}
	switch raw.Version {
	case "":
		d.Version = "2008-10-17"
	case "2008-10-17", "2012-10-17":
	default:
		return nil, fmt.Errorf("read policy: Version is %q; there are 2012-10-17 and 2008-10-17", raw.Version)
	}
	statements, err := listOf[json.RawMessage](raw.Statement)
	if err != nil {
		return nil, fmt.Errorf("read policy: Statement: %w", err)
	}
	if len(statements) == 0 {
		return nil, errors.New("read policy: it has no Statement")
	}
	seen := map[string]bool{}
	for i, text := range statements {
		s, err := d.parseStatement(text)
		if err == nil && s.Sid != "" && seen[s.Sid] {
			err = errors.New("another statement has the same Sid")
		}
		if err != nil {
			return nil, fmt.Errorf("read policy: statement %s: %w", nameOf(s.Sid, i), err)
		}
		seen[s.Sid] = true
		d.Statements = append(d.Statements, s)
	}
	return d, nil
}

// ParseValue reads a document that is a decoded JSON value, as in a resolved template.
func ParseValue(value any, kind Kind) (*Document, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return Parse(text, kind)
}

// nameOf returns how a statement is named.
func nameOf(sid string, index int) string {
	if sid != "" {
		return sid
	}
	return fmt.Sprintf("#%d", index+1)
}

var sids = regexp.MustCompile(`^[A-Za-z0-9]*$`)

func (d *Document) parseStatement(text []byte) (Statement, error) {
	var raw struct {
		Sid, Effect                              string
		Principal, NotPrincipal                  json.RawMessage
		Action, NotAction, Resource, NotResource json.RawMessage
		Condition                                map[string]map[string]json.RawMessage
	}
	if err := strictly(text, &raw); err != nil {
		return Statement{}, err
	}
	s := Statement{Sid: raw.Sid}
	if d.Kind == Identity && !sids.MatchString(raw.Sid) {
		return s, fmt.Errorf("the Sid may hold letters and digits only")
	}
	switch raw.Effect {
	case "Allow":
	case "Deny":
		s.Deny = true
	default:
		return s, fmt.Errorf("element Effect is %q and must be Allow or Deny", raw.Effect)
	}
	if raw.NotPrincipal != nil {
		return s, errors.New("NotPrincipal is not evaluated here; deny Principal * with a condition on aws:PrincipalArn instead")
	}
	for _, part := range []func() error{
		func() error { return s.parseActions(raw.Action, raw.NotAction) },
		func() error { return s.parseResources(d, raw.Resource, raw.NotResource) },
		func() error { return s.parsePrincipals(d, raw.Principal) },
		func() error { return s.parseConditions(d, raw.Condition) },
	} {
		if err := part(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// either returns which of an element and its opposite a statement has.
func either(name string, yes, no json.RawMessage) (values []string, negated bool, err error) {
	if (yes == nil) == (no == nil) {
		return nil, false, fmt.Errorf("it must have either %s or Not%s", name, name)
	}
	text := yes
	if yes == nil {
		text, negated, name = no, true, "Not"+name
	}
	values, err = listOf[string](text)
	if err == nil && len(values) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	return values, negated, nil
}

var actionForm = regexp.MustCompile(`^(\*|[A-Za-z0-9-]+:[A-Za-z0-9*?]+)$`)

func (s *Statement) parseActions(yes, no json.RawMessage) (err error) {
	if s.Actions, s.NotAction, err = either("Action", yes, no); err != nil {
		return err
	}
	for _, a := range s.Actions {
		if !actionForm.MatchString(a) {
			return fmt.Errorf("element Action %q is no service and action", a)
		}
		p, err := parsePattern(strings.ToLower(a), false)
		if err != nil {
			return err
		}
		s.actions = append(s.actions, p)
	}
	return nil
}

func (s *Statement) parseResources(d *Document, yes, no json.RawMessage) (err error) {
	if d.Kind == Trust {
		if yes != nil || no != nil {
			return errors.New("a trust policy has no Resource")
		}
		return nil
	}
	if s.Resources, s.NotResource, err = either("Resource", yes, no); err != nil {
		return err
	}
	for _, r := range s.Resources {
		p, err := parsePattern(r, d.Version == "2012-10-17")
		if err != nil {
			return err
		}
		if _, ok := p.arnParts(); r != "*" && (!ok || !strings.HasPrefix(r, "arn:")) {
			return fmt.Errorf("element Resource %q is neither an ARN nor *", r)
		}
		if service := strings.Split(r+":::", ":")[2]; strings.ContainsAny(service, "*?") {
			return fmt.Errorf("element Resource %q: there may be no wildcard in an ARN's service", r)
		}
		parts, _ := p.arnParts()
		if !p.fixed() {
			parts = nil
		}
		s.resources, s.parts = append(s.resources, p), append(s.parts, parts)
	}
	return nil
}

func (s *Statement) parsePrincipals(d *Document, text json.RawMessage) error {
	if d.Kind == Identity {
		if text != nil {
			return errors.New("an identity policy has no Principal")
		}
		return nil
	}
	if text == nil {
		return errors.New("it must have a Principal")
	}
	var everyone string
	if json.Unmarshal(text, &everyone) == nil {
		if everyone != "*" {
			return fmt.Errorf("Principal %q is neither * nor a map", everyone)
		}
		s.principals = []principal{{everyone: true}}
		return nil
	}
	var byType map[string]json.RawMessage
	if err := json.Unmarshal(text, &byType); err != nil {
		return fmt.Errorf("Principal: %w", err)
	}
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		values, err := listOf[string](byType[kind])
		if err != nil {
			return fmt.Errorf("Principal %s: %w", kind, err)
		}
		for _, value := range values {
			p, err := parsePrincipal(kind, value)
			if err != nil {
				return err
			}
			s.principals = append(s.principals, p)
		}
	}
	if len(s.principals) == 0 {
		return errors.New("Principal is empty")
	}
	return nil
}

var (
	accountForm   = regexp.MustCompile(`^\d{12}$`)
	rootForm      = regexp.MustCompile(`^arn:[a-z-]+:iam::(\d{12}):root$`)
	principalForm = regexp.MustCompile(`^arn:[a-z-]+:(iam::\d{12}:(role|user)|sts::\d{12}:assumed-role)/[^*?]+$`)
	providerForm  = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:oidc-provider/[^*?]+$`)
	serviceForm   = regexp.MustCompile(`^[a-z0-9.-]+\.amazonaws\.com(\.cn)?$`)
)

func parsePrincipal(kind, value string) (principal, error) {
	switch kind {
	case "AWS":
		switch root := rootForm.FindStringSubmatch(value); {
		case value == "*":
			return principal{everyone: true}, nil
		case accountForm.MatchString(value):
			return principal{account: value}, nil
		case root != nil:
			return principal{account: root[1]}, nil
		case principalForm.MatchString(value):
			return principal{arn: value}, nil
		}
	case "Service":
		if serviceForm.MatchString(value) {
			return principal{service: value}, nil
		}
	case "Federated":
		if providerForm.MatchString(value) {
			return principal{provider: value}, nil
		}
	default:
		return principal{}, fmt.Errorf("Principal %s is not evaluated here", kind)
	}
	return principal{}, fmt.Errorf("Principal %s %q is none that IAM knows: there may be no wildcard in an ARN", kind, value)
}

// strictly decodes JSON and refuses elements that out does not have, names in another case, and what follows.
func strictly(text []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the document")
	}
	return nil
}

// listOf reads one value or a list of them.
func listOf[T any](text json.RawMessage) ([]T, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		var list []T
		return list, json.Unmarshal(text, &list)
	}
	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	return []T{one}, nil
}
