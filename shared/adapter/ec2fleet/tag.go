package ec2fleet

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Tag gives an instance those of the tags whose keys it does not have, going by what EC2 says it has now. It reports
// whether any were missing. NotFound where EC2 does not show the instance.
func (f *Fleet) Tag(ctx context.Context, id string, tags map[string]string) (bool, error) {
	found, err := f.describe(ctx, byID([]string{id}))
	if err != nil {
		return false, translate(err, "describe instance %s to tag it", id)
	}
	if len(found) == 0 {
		return false, fault.New(fault.NotFound, "", "EC2 does not show instance %s", id)
	}
	missing := maps.Clone(tags)
	maps.DeleteFunc(missing, func(key, _ string) bool { _, has := found[0].Tags[key]; return has })
	if len(missing) == 0 {
		return false, nil
	}
	_, err = f.client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: sdkTags(missing)})
	return true, translate(err, "tag instance %s", id)
}
