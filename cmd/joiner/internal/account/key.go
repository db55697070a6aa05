package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// use is what somebody does with the key that only its own policy can allow.
type use struct {
	principal string // "Service" or "AWS"
	who       string
	actions   []string
	without   string // what is lost
}

// uses are those of an installation. Roles of the account, and what acts for them, are let in through IAM once the
// policy names the account. Sources: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS";
// SQS developer guide, "Configuring KMS permissions for AWS services", EventBridge; KMS developer guide, "Default key
// policy".
func (a *Account) uses() []use {
	suffix := "amazonaws.com"
	if a.Partition == partitionOfChina {
		suffix += ".cn"
	}
	return []use{
		{"AWS", "arn:" + a.Partition + ":iam::" + a.ID + ":root",
			[]string{"kms:Decrypt", "kms:GenerateDataKey", "kms:CreateGrant"},
			"no role of the account can use it, whatever IAM says"},
		{"Service", "logs." + a.Config.Region + "." + suffix,
			[]string{"kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:GenerateDataKey", "kms:DescribeKey"},
			"the log groups cannot be created, and the region's stack fails"},
		{"Service", "events.amazonaws.com", []string{"kms:Decrypt", "kms:GenerateDataKey"},
			"every spot warning and state change of an instance is lost, with its dead letter"},
	}
}

// KMSKey looks at a key that encrypts what the installation stores: whether it can be used, and whether its policy lets
// those in who need it. Conditions of statements are taken to hold.
func (a *Account) KMSKey(ctx context.Context, arn string) ([]check.Finding, error) {
	client := kms.NewFromConfig(a.Config)
	described, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &arn})
	var none *types.NotFoundException
	if errors.As(err, &none) {
		return check.One(check.Fail, "there is no such key in "+a.Config.Region,
			"name a key of the region: aws kms list-keys"), nil
	}
	if err != nil {
		return nil, err
	}
	key := described.KeyMetadata
	if key.KeyState != types.KeyStateEnabled {
		return check.One(check.Fail, "it is "+string(key.KeyState), "aws kms enable-key --key-id "+arn), nil
	}
	if key.KeySpec != types.KeySpecSymmetricDefault || key.KeyUsage != types.KeyUsageTypeEncryptDecrypt {
		return check.One(check.Fail,
			fmt.Sprintf("it is a key of spec %s for %s; SQS, DynamoDB, S3 and Lambda take symmetric keys that encrypt",
				key.KeySpec, key.KeyUsage), "aws kms create-key, and name that one"), nil
	}
	out, err := client.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: &arn, PolicyName: aws.String("default")})
	if err != nil {
		return nil, err
	}
	policy, err := parseKeyPolicy(aws.ToString(out.Policy))
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	for _, u := range a.uses() {
		if lacks := policy.lacks(u); len(lacks) > 0 {
			found = append(found, check.Finding{
				Level: check.Fail, Seen: fmt.Sprintf("its policy does not allow %s to %s: %s", u.who,
					strings.Join(lacks, ", "), u.without),
				Do: "add to its policy (aws kms get-key-policy, aws kms put-key-policy): " + u.statement(),
			})
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK, "it is enabled, and the account, CloudWatch Logs and EventBridge may use it", "")
	}
	return found, nil
}

// statement is the one that allows a use.
func (u use) statement() string {
	actions := u.actions
	if u.principal == "AWS" {
		actions = []string{"kms:*"}
	}
	text, err := json.Marshal(map[string]any{"Effect": "Allow", "Principal": map[string]string{u.principal: u.who},
		"Action": actions, "Resource": "*"})
	if err != nil {
		panic(err) // it is made of texts
	}
	return string(text)
}

// keyPolicy is what of a key's policy decides here.
type keyPolicy struct{ Statement list[keyStatement] }

type keyStatement struct {
	Effect            string
	Principal         principals
	Action, NotAction list[string]
	Condition         any
}

// list is one element, or several.
type list[T any] []T

// UnmarshalJSON takes both ways of writing.
func (l *list[T]) UnmarshalJSON(text []byte) error {
	var many []T
	if json.Unmarshal(text, &many) == nil {
		*l = many
		return nil
	}
	var single T
	if err := json.Unmarshal(text, &single); err != nil {
		return err
	}
	*l = list[T]{single}
	return nil
}

// principals are by kind; "*" is everybody.
type principals map[string]list[string]

// UnmarshalJSON takes "*" for everybody.
func (p *principals) UnmarshalJSON(text []byte) error {
	if string(text) == `"*"` {
		*p = principals{"AWS": {"*"}}
		return nil
	}
	var by map[string]list[string]
	if err := json.Unmarshal(text, &by); err != nil {
		return err
	}
	*p = by
	return nil
}

func parseKeyPolicy(text string) (keyPolicy, error) {
	var p keyPolicy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("read the key's policy: %w", err)
	}
	return p, nil
}

// lacks are the actions of a use that no statement allows, or that one denies.
func (p keyPolicy) lacks(u use) []string {
	var out []string
	for _, action := range u.actions {
		allowed := false
		for i := range p.Statement {
			s := &p.Statement[i]
			if !s.names(u) || !s.covers(action) {
				continue
			}
			if s.Effect == "Deny" && s.Condition == nil {
				allowed = false
				break
			}
			allowed = allowed || s.Effect == "Allow"
		}
		if !allowed {
			out = append(out, action)
		}
	}
	return out
}

// names reports whether a statement is about who uses the key. An account may be written as its number.
func (s *keyStatement) names(u use) bool {
	for _, who := range s.Principal[u.principal] {
		if who == "*" || who == u.who || u.principal == "AWS" && strings.Contains(u.who, "::"+who+":") {
			return true
		}
	}
	return slices.Contains(s.Principal["AWS"], "*") && s.Effect == "Allow" && s.Condition == nil
}

// covers reports whether a statement is about an action, whose pattern may have wildcards.
func (s *keyStatement) covers(action string) bool {
	match := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			is, err := path.Match(strings.ToLower(pattern), strings.ToLower(action))
			return err == nil && is
		})
	}
	if len(s.NotAction) > 0 {
		return !match(s.NotAction)
	}
	return match(s.Action)
}
