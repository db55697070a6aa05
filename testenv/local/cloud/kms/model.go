// Package kms is a model of the keys of AWS KMS as far as making them and looking at them goes: CreateKey, DescribeKey and GetKeyPolicy. What a key's policy
// allows is for others to say.
//
//	m := kms.New("us-west-2")
//	m.Put(kms.Key{ARN: "arn:aws:kms:us-west-2:123456789012:key/…", Policy: text})
//	c.Register("kms", kms.NewHandler(m))
package kms

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Key is one key.
type Key struct {
	ARN      string
	Policy   string // JSON
	State    string // "" means Enabled
	Usage    string // "" means ENCRYPT_DECRYPT
	KeySpec  string // "" means SYMMETRIC_DEFAULT
	Disabled bool
}

// Model is the keys of an account in a region. It may be used from many goroutines.
type Model struct {
	region string

	mu   sync.Mutex
	keys map[string]Key // by ARN
}

// New returns a model of a region, without keys. "" means us-west-2.
func New(region string) *Model {
	return &Model{region: cmp.Or(region, "us-west-2"), keys: map[string]Key{}}
}

// Put adds a key, or replaces the one of its ARN.
func (m *Model) Put(k Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[k.ARN] = k
}

// NewHandler serves m on the wire protocol of KMS.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "TrentService", Actions: map[string]wire.JSONAction{
		"CreateKey": wire.JSONFunc(m.create), "DescribeKey": wire.JSONFunc(m.describe), "GetKeyPolicy": wire.JSONFunc(m.policy),
	}}
}

type keyInput struct {
	KeyID      string `json:"KeyId"`
	PolicyName string
}

// find returns the key of an id or ARN.
func (m *Model) find(id string) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for arn, k := range m.keys {
		if arn == id || strings.HasSuffix(arn, ":key/"+id) {
			return k, nil
		}
	}
	return Key{}, wire.Errorf("NotFoundException", "Key '%s' does not exist", id)
}

// Lookup returns the key of an id or ARN.
func (m *Model) Lookup(id string) (Key, bool) {
	k, err := m.find(id)
	return k, err == nil
}

type createInput struct {
	Policy, Description, KeySpec, KeyUsage string
}

// create makes a symmetric key in the caller's account and region. Without a policy the account's own decide.
func (m *Model) create(ctx context.Context, in *createInput) (*describeOutput, error) {
	if in.KeySpec != "" && in.KeySpec != "SYMMETRIC_DEFAULT" || in.KeyUsage != "" && in.KeyUsage != "ENCRYPT_DECRYPT" {
		return nil, wire.Errorf("UnsupportedOperationException", "Keys of KeySpec %q and KeyUsage %q are not modelled", in.KeySpec, in.KeyUsage)
	}
	account := wire.Caller(ctx).Account
	if in.Policy == "" {
		in.Policy = fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::%s:root"}, "Action": "kms:*", "Resource": "*"}]}`, account)
	}
	if !json.Valid([]byte(in.Policy)) {
		return nil, wire.Errorf("MalformedPolicyDocumentException", "The new key policy is not valid JSON")
	}
	k := Key{ARN: "arn:aws:kms:" + m.region + ":" + account + ":key/" + wire.NewRequestID(), Policy: in.Policy}
	m.Put(k)
	return m.describe(ctx, &keyInput{KeyID: k.ARN})
}

type metadata struct {
	AWSAccountID string `json:"AWSAccountId"`
	KeyID        string `json:"KeyId"`
	Arn          string
	Enabled      bool
	KeyState     string
	KeyUsage     string
	KeySpec      string
	KeyManager   string
}

type describeOutput struct{ KeyMetadata metadata }

func (m *Model) describe(_ context.Context, in *keyInput) (*describeOutput, error) {
	k, err := m.find(in.KeyID)
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(k.ARN, ":", 6)
	out := metadata{
		AWSAccountID: parts[4], KeyID: strings.TrimPrefix(parts[5], "key/"), Arn: k.ARN, Enabled: !k.Disabled,
		KeyState: k.State, KeyUsage: k.Usage, KeySpec: k.KeySpec, KeyManager: "CUSTOMER",
	}
	for field, value := range map[*string]string{&out.KeyState: "Enabled", &out.KeyUsage: "ENCRYPT_DECRYPT", &out.KeySpec: "SYMMETRIC_DEFAULT"} {
		if *field == "" {
			*field = value
		}
	}
	if k.Disabled && k.State == "" {
		out.KeyState = "Disabled"
	}
	return &describeOutput{out}, nil
}

type policyOutput struct{ Policy, PolicyName string }

func (m *Model) policy(_ context.Context, in *keyInput) (*policyOutput, error) {
	k, err := m.find(in.KeyID)
	if err != nil {
		return nil, err
	}
	if in.PolicyName != "" && in.PolicyName != "default" {
		return nil, wire.Errorf("NotFoundException", "No such policy exists")
	}
	return &policyOutput{k.Policy, "default"}, nil
}
