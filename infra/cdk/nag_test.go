package main

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// Whatever cdk-nag finds is mended, or excused with a reason beside the resource.
func TestNagFindsNothing(t *testing.T) {
	for file, stack := range synthesised(t).stacks {
		annotations := assertions.Annotations_FromStack(stack)
		for _, found := range *annotations.FindError(jsii.String("*"), assertions.Match_AnyValue()) {
			//nolint:staticcheck // no other type has the id
			t.Errorf("%s: %s: %v", file, *found.Id, found.Entry.Data)
		}
		for _, found := range *annotations.FindWarning(jsii.String("*"), assertions.Match_AnyValue()) {
			//nolint:staticcheck // no other type has the id
			t.Errorf("%s: %s: %v", file, *found.Id, found.Entry.Data)
		}
	}
}
