package ec2fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/model"
)

// templatesAPage is the most that EC2 takes, see instancesAPage.
const templatesAPage = 200

// Named returns the names of the launch templates a stored request launches from, sorted.
func (f *Fleet) Named(request []byte) ([]string, error) {
	stored, err := decodeRequest(request)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range stored.Templates {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Collect deletes at most so many of the cluster's launch templates that were made before a time, oldest first, without
// those of the given names. It returns how many there are to delete yet.
func (f *Fleet) Collect(ctx context.Context, cluster string, keep []string, beforeUnix int64, most int) (left int,
	err error) {
	all, err := f.templates(ctx, cluster)
	if err != nil {
		return 0, err
	}
	old := slices.DeleteFunc(all, func(t types.LaunchTemplate) bool {
		return !aws.ToTime(t.CreateTime).Before(time.Unix(beforeUnix, 0)) || slices.Contains(keep,
			aws.ToString(t.LaunchTemplateName))
	})
	most = max(0, min(most, len(old)))
	return len(old) - most, f.deleteTemplates(ctx, old[:most])
}

// DeleteTemplates deletes every launch template of a class.
func (f *Fleet) DeleteTemplates(ctx context.Context, cluster, class string) error {
	all, err := f.templates(ctx, cluster,
		types.Filter{Name: aws.String("tag:" + model.LabelNodeClass), Values: []string{class}})
	if err != nil {
		return err
	}
	return f.deleteTemplates(ctx, all)
}

// templates returns the cluster's launch templates that were made here, oldest first: a tag alone may be somebody
// else's.
func (f *Fleet) templates(ctx context.Context, cluster string, filters ...types.Filter) ([]types.LaunchTemplate,
	error) {
	filters = append(filters,
		types.Filter{Name: aws.String("tag:kubernetes.io/cluster/" + cluster), Values: []string{"owned"}})
	pages := ec2.NewDescribeLaunchTemplatesPaginator(f.client,
		&ec2.DescribeLaunchTemplatesInput{Filters: filters, MaxResults: aws.Int32(templatesAPage)})
	var out []types.LaunchTemplate
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "list the launch templates of cluster %s", cluster)
		}
		for _, t := range page.LaunchTemplates {
			if strings.HasPrefix(aws.ToString(t.LaunchTemplateName), templatePrefix(cluster)) {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b types.LaunchTemplate) int {
		return cmp.Or(aws.ToTime(a.CreateTime).Compare(aws.ToTime(b.CreateTime)),
			strings.Compare(aws.ToString(a.LaunchTemplateName), aws.ToString(b.LaunchTemplateName)))
	})
	return out, nil
}

// deleteTemplates deletes templates; one that is gone already is as it should be.
func (f *Fleet) deleteTemplates(ctx context.Context, templates []types.LaunchTemplate) error {
	for _, t := range templates {
		name := aws.ToString(t.LaunchTemplateName)
		f.mutex.Lock()
		delete(f.made, name)
		f.mutex.Unlock()
		_, err := f.client.DeleteLaunchTemplate(ctx,
			&ec2.DeleteLaunchTemplateInput{LaunchTemplateId: t.LaunchTemplateId})
		if err != nil && !templateGone(sdkerr.Code(err)) {
			return translate(err, "delete launch template %s", name)
		}
	}
	return nil
}
