package kms_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
)

func TestAKeyIsDescribedWithItsPolicy(t *testing.T) {
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, client := kms.New(""), sdk.NewFromConfig(c.Config())
	c.Register("kms", kms.NewHandler(m))
	const arn = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
	m.Put(kms.Key{ARN: arn, Policy: `{"Statement": []}`})
	for _, id := range []string{arn, "11111111-2222-3333-4444-555555555555"} {
		described, err := client.DescribeKey(t.Context(), &sdk.DescribeKeyInput{KeyId: &id})
		if err != nil || aws.ToString(described.KeyMetadata.Arn) != arn || !described.KeyMetadata.Enabled || described.KeyMetadata.KeySpec != types.KeySpecSymmetricDefault {
			t.Errorf("%s: %+v %v", id, described, err)
		}
		read, err := client.GetKeyPolicy(t.Context(), &sdk.GetKeyPolicyInput{KeyId: &id})
		if err != nil || aws.ToString(read.Policy) != `{"Statement": []}` {
			t.Errorf("%s: %+v %v", id, read, err)
		}
	}
	m.Put(kms.Key{ARN: arn, Disabled: true})
	if described, err := client.DescribeKey(t.Context(), &sdk.DescribeKeyInput{KeyId: aws.String(arn)}); err != nil || described.KeyMetadata.KeyState != types.KeyStateDisabled {
		t.Errorf("%+v %v", described, err)
	}
	made, err := client.CreateKey(t.Context(), &sdk.CreateKeyInput{Policy: aws.String(`{"Statement": []}`)})
	if err != nil || !strings.HasPrefix(aws.ToString(made.KeyMetadata.Arn), "arn:aws:kms:us-west-2:123456789012:key/") {
		t.Fatalf("%+v %v", made, err)
	}
	if found, ok := m.Lookup(aws.ToString(made.KeyMetadata.KeyId)); !ok || found.Policy != `{"Statement": []}` {
		t.Errorf("a key that was made is found as %+v, %v", found, ok)
	}
	var none *types.NotFoundException
	if _, err := client.GetKeyPolicy(t.Context(), &sdk.GetKeyPolicyInput{KeyId: aws.String("other")}); !errors.As(err, &none) {
		t.Errorf("a key that is not there: %v", err)
	}
}
