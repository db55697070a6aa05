package deploy

import (
	"fmt"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
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
	for _, action := range []string{"kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:DescribeKey"} {
		may, err := a.mayUse(key, "logs."+a.Cloud.Region()+".amazonaws.com", action, policy.Context{"kms:encryptioncontext:aws:logs:arn": {group}})
		if err != nil {
			return err
		}
		if !may {
			//nolint:staticcheck // AWS's words
			return fmt.Errorf("The specified KMS key does not exist or is not allowed to be used with Arn '%s'", group)
		}
	}
	return nil
}

// eventsWithKey checks that EventBridge may put something into a queue that is kept with a key ("" = with none of people's). It sends KMS neither
// aws:SourceArn nor aws:SourceAccount. Source: Amazon SQS developer guide, "Configuring KMS permissions for AWS services"; Amazon SNS developer
// guide, "Enable compatibility between event sources from AWS services and encrypted topics".
func (a *Account) eventsWithKey(key string) error {
	if err := a.usable(key); key == "" || err != nil {
		return err
	}
	for _, action := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		may, err := a.mayUse(key, "events.amazonaws.com", action, nil)
		if err != nil {
			return err
		}
		if !may {
			return fmt.Errorf("EventBridge is not allowed %s by the policy of key %s", action, key)
		}
	}
	return nil
}

// mayUse reports whether a key's policy lets a service do something with it.
func (a *Account) mayUse(key, service, action string, keys policy.Context) (bool, error) {
	found, _ := a.Keys.Lookup(key)
	said, err := policy.Parse([]byte(found.Policy), policy.Resource)
	if err != nil {
		return false, fmt.Errorf("policy of key %s: %w", key, err)
	}
	asked := policy.Request{Principal: policy.Service(service), Action: action, Resource: found.ARN, Account: a.account(), Context: keys}
	return policy.Decide(asked, policy.Policies{Resource: &policy.Attached{Name: "policy of the key", Document: said}}).Allowed(), nil
}
