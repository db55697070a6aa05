package ec2catalog

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// parameter is an SSM parameter as last read; an empty value means that it does not exist.
type parameter struct {
	value  string
	readAt time.Time
}

// images returns every image the queries find, each once per query that finds it, in the order of the queries.
func (c *Catalog) images(ctx context.Context, queries []model.ImageQuery) ([]model.Image, error) {
	byID := map[string][]model.ImageQuery{}
	var ids []string
	var found []model.Image
	for _, query := range queries {
		id := query.Term.ID
		if query.Parameter != "" {
			var err error
			if id, err = c.parameter(ctx, query.Parameter); err != nil {
				return nil, err
			}
			if !strings.HasPrefix(id, "ami-") {
				continue // a variant that is not published for this version, or a parameter that holds no image
			}
		}
		if id == "" {
			images, err := c.describeImages(ctx, termInput(query.Term))
			if err != nil {
				return nil, err
			}
			for i := range images {
				found = c.appendImage(found, &images[i], query)
			}
			continue
		}
		if byID[id] == nil {
			ids = append(ids, id)
		}
		byID[id] = append(byID[id], query)
	}
	if len(ids) == 0 {
		return found, nil
	}
	images, err := c.describeImages(ctx, &ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("image-id"), Values: ids}}})
	if err != nil {
		return nil, err
	}
	for i := range images {
		for _, query := range byID[aws.ToString(images[i].ImageId)] {
			found = c.appendImage(found, &images[i], query)
		}
	}
	return found, nil
}

func termInput(term model.SelectorTerm) *ec2.DescribeImagesInput {
	input := &ec2.DescribeImagesInput{Filters: tagFilters(term.Tags)}
	if term.Name != "" {
		input.Filters = append(input.Filters, types.Filter{Name: aws.String("name"), Values: []string{term.Name}})
	}
	switch {
	case term.Owner != "":
		input.Owners = []string{term.Owner}
	case term.Name != "":
		input.Owners = []string{"self", "amazon"} // a name alone could be anybody's
	}
	return input
}

func (c *Catalog) describeImages(ctx context.Context, input *ec2.DescribeImagesInput) ([]types.Image, error) {
	input.Filters = append(input.Filters, types.Filter{Name: aws.String("state"), Values: []string{"available"}})
	input.IncludeDeprecated, input.MaxResults = aws.Bool(true), aws.Int32(1000)
	pages := ec2.NewDescribeImagesPaginator(c.clients.EC2, input)
	var images []types.Image
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "describe images")
		}
		images = append(images, page.Images...)
	}
	return images, nil
}

// appendImage adds one image with its query's requirements and its architecture; others than ours are left out.
func (c *Catalog) appendImage(found []model.Image, described *types.Image, query model.ImageQuery) []model.Image {
	arch := map[types.ArchitectureValues]string{types.ArchitectureValuesX8664: "amd64", types.ArchitectureValuesArm64: "arm64"}[described.Architecture]
	if arch == "" {
		return found
	}
	image := model.Image{ID: aws.ToString(described.ImageId), Name: aws.ToString(described.Name)}
	if created, err := time.Parse(time.RFC3339, aws.ToString(described.CreationDate)); err == nil {
		image.CreatedUnix = created.Unix()
	}
	if deprecated, err := time.Parse(time.RFC3339, aws.ToString(described.DeprecationTime)); err == nil {
		image.Deprecated = !deprecated.After(c.settings.Now())
	}
	image.Requirements = append(append([]model.Requirement{}, query.Requirements...),
		model.Requirement{Key: model.LabelArch, Operator: model.In, Values: []string{arch}})
	return append(found, image)
}

// parameter returns an SSM parameter's value, "" where it does not exist. Only absence is taken for absence: any other
// failure is an error, so that a throttled look-up never drops an architecture.
func (c *Catalog) parameter(ctx context.Context, name string) (string, error) {
	now := c.settings.Now()
	c.mutex.Lock()
	kept, known := c.parameters[name]
	c.mutex.Unlock()
	if known && now.Sub(kept.readAt) < c.settings.ImagesEvery {
		return kept.value, nil
	}
	out, err := c.clients.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(name)})
	read := parameter{readAt: now}
	if err != nil {
		err = translate(err, "read parameter %s", name)
		if !fault.Is(err, fault.NotFound) {
			if known {
				return kept.value, nil
			}
			return "", err
		}
	} else if out.Parameter != nil {
		read.value = aws.ToString(out.Parameter.Value)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.parameters[name] = read
	return read.value, nil
}
