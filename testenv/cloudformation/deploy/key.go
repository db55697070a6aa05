package deploy

import (
	"fmt"

	"github.com/joiner-sh/joiner/testenv/cloud/policy"
)

// usable checks that something can be encrypted with a key: one that is there and enabled. "" is AWS's own.
func (a *Account) usable(key string) error {
	if key == "" {
		return nil
	}
	if a.Keys != nil {
		if found, ok := a.Keys.Lookup(key); ok && !found.Disabled {
			return nil
		}
	}
	return fmt.Errorf("KMS key %s does not exist, or is not enabled", key)
}

// logsWithKey checks that CloudWatch Logs may use the key of a log group, by the key's policy and for that group. Source: CloudWatch Logs user guide, "Encrypt log
// data in CloudWatch Logs using AWS KMS".
func (r resource) logsWithKey() error {
	key, _ := r.properties["KmsKeyId"].(string)
	if r.stack.Resources[r.id].Type != "AWS::Logs::LogGroup" || key == "" {
		return nil
	}
	if err := r.account.usable(key); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	a := r.account
	group := "arn:aws:logs:" + a.Cloud.Region() + ":" + a.account() + ":log-group:" + name
	found, _ := a.Keys.Lookup(key)
	said, err := policy.Parse([]byte(found.Policy), policy.Resource)
	if err != nil {
		return fmt.Errorf("policy of key %s: %w", key, err)
	}
	for _, action := range []string{"kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"} {
		asked := policy.Request{
			Principal: policy.Service("logs." + a.Cloud.Region() + ".amazonaws.com"), Action: action, Resource: found.ARN, Account: a.account(),
			Context: policy.Context{"kms:encryptioncontext:aws:logs:arn": {group}},
		}
		if !policy.Decide(asked, policy.Policies{Resource: &policy.Attached{Name: "policy of the key", Document: said}}).Allowed() {
			//lint:ignore ST1005 AWS's words
			return fmt.Errorf("The specified KMS key does not exist or is not allowed to be used with Arn '%s'", group)
		}
	}
	return nil
}
