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

const (
	// ownParametersEvery is how long a parameter of the account's own is good. People change them when they like.
	ownParametersEvery = 5 * time.Minute
	// doubtAfter is how long a parameter is believed whatever became of its image.
	doubtAfter = 5 * time.Minute
)

// images returns every image the queries find, each once per query that finds it, in the order of the queries. Where a
// parameter of the moving kind names an image that is deprecated or gone, it is read anew: its publisher has taken a
// release back.
func (c *Classes) images(ctx context.Context, queries []model.ImageQuery) ([]model.Image, error) {
	found, doubtful, err := c.lookUpImages(ctx, queries)
	if err != nil || !doubtful {
		return found, err
	}
	found, _, err = c.lookUpImages(ctx, queries)
	return found, err
}

// lookUpImages looks once. doubtful says that a parameter was found to be worth reading anew.
func (c *Classes) lookUpImages(ctx context.Context, queries []model.ImageQuery) (found []model.Image, doubtful bool,
	err error) {
	byID := map[string][]model.ImageQuery{}
	var ids []string
	for _, query := range queries {
		id := query.Term.ID
		if query.Parameter != "" {
			if id, err = c.parameter(ctx, query.Parameter); err != nil {
				return nil, false, err
			}
			if !strings.HasPrefix(id, "ami-") {
				continue // a variant that is not published for this version, or a parameter that holds no image
			}
		}
		if id == "" {
			images, err := c.describeImages(ctx, termInput(query.Term))
			if err != nil {
				return nil, false, err
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
		return found, false, nil
	}
	images, err := c.describeImages(ctx,
		&ec2.DescribeImagesInput{Filters: []types.Filter{{Name: aws.String("image-id"), Values: ids}}})
	if err != nil {
		return nil, false, err
	}
	for i := range images {
		for _, query := range byID[aws.ToString(images[i].ImageId)] {
			found = c.appendImage(found, &images[i], query)
		}
	}
	return found, c.doubtParameters(byID, images), nil
}

// doubtParameters marks the parameters that name none of the images that are there and not deprecated, and reports
// whether there are any. Those that name one release for ever, and those read a moment ago, are believed.
func (c *Classes) doubtParameters(byID map[string][]model.ImageQuery, images []types.Image) bool {
	current := map[string]bool{}
	for i := range images {
		current[aws.ToString(images[i].ImageId)] = !c.deprecated(&images[i])
	}
	now, any := c.settings.Now(), false
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for id, queries := range byID {
		for _, query := range queries {
			kept, known := c.parameters[query.Parameter]
			if current[id] || !known || !moves(query.Parameter) || now.Sub(kept.readAt) < doubtAfter {
				continue
			}
			kept.doubt, any = true, true
			c.parameters[query.Parameter] = kept
		}
	}
	return any
}

// published begins the names of the parameters AWS itself keeps.
const published = "/aws/service/"

// moves reports whether a parameter may name another image tomorrow.
func moves(name string) bool {
	return !strings.HasPrefix(name, published) ||
		strings.Contains(name, "/recommended/") || strings.Contains(name, "/latest/") || strings.Contains(name,
		"/ami-windows-latest/")
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

func (c *Classes) describeImages(ctx context.Context, input *ec2.DescribeImagesInput) ([]types.Image, error) {
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
func (c *Classes) appendImage(found []model.Image, described *types.Image, query model.ImageQuery) []model.Image {
	arch := map[types.ArchitectureValues]string{types.ArchitectureValuesX8664: "amd64",
		types.ArchitectureValuesArm64: "arm64"}[described.Architecture]
	if arch == "" {
		return found
	}
	image := model.Image{ID: aws.ToString(described.ImageId), Name: aws.ToString(described.Name)}
	if created, err := time.Parse(time.RFC3339, aws.ToString(described.CreationDate)); err == nil {
		image.CreatedUnix = created.Unix()
	}
	image.Deprecated = c.deprecated(described)
	image.Requirements = append(append([]model.Requirement{}, query.Requirements...),
		model.Requirement{Key: model.LabelArch, Operator: model.In, Values: []string{arch}})
	return append(found, image)
}

// deprecated reports whether an image's time of deprecation has come.
func (c *Classes) deprecated(described *types.Image) bool {
	at, err := time.Parse(time.RFC3339, aws.ToString(described.DeprecationTime))
	return err == nil && !at.After(c.settings.Now())
}

// parameter returns an SSM parameter's value, "" where it does not exist. Only absence is taken for absence: any other
// failure is an error, so that a throttled look-up never drops an architecture.
func (c *Classes) parameter(ctx context.Context, name string) (string, error) {
	now := c.settings.Now()
	c.mutex.Lock()
	kept, known := c.parameters[name]
	c.mutex.Unlock()
	good := imagesEvery
	if !strings.HasPrefix(name, published) {
		good = min(good, ownParametersEvery)
	}
	if known && !kept.doubt && now.Sub(kept.readAt) < good {
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
