package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// copyOf is a request to copy an image under a name.
func copyOf(image, name string) *sdk.CopyImageInput {
	return &sdk.CopyImageInput{SourceImageId: &image, SourceRegion: aws.String("us-west-2"), Name: &name}
}

func TestACopyOfAnImageIsTheAccountsOwnAndCanBeLaunchedFrom(t *testing.T) {
	b := newBench(t)
	source := imageFor("x86_64")
	in := copyOf(source, "mine (1)")
	in.ClientToken = aws.String("once")
	in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeImage, Tags: []types.Tag{{Key: aws.String("family"), Value: aws.String("AL2023")}}}}
	made, err := b.sdk.CopyImage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.sdk.CopyImage(t.Context(), in)
	if err != nil || *again.ImageId != *made.ImageId {
		t.Errorf("the same token: %v %v, want %s", again, err, *made.ImageId)
	}
	in.Name = aws.String("mine (2)")
	_, err = b.sdk.CopyImage(t.Context(), in)
	wantCode(t, "the token of another request", err, "IdempotentParameterMismatch")

	out, err := b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{Owners: []string{"self"}, Filters: []types.Filter{by("tag:family", "AL2023")}})
	if err != nil || len(out.Images) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	image := out.Images[0]
	if *image.ImageId != *made.ImageId || *image.Name != "mine (1)" || *image.SourceImageId != source || *image.SourceImageRegion != "us-west-2" ||
		*image.OwnerId != b.Account() || image.ImageOwnerAlias != nil || *image.Public || *image.CreationDate != "2026-01-01T00:00:00.000Z" || len(image.BlockDeviceMappings) != 1 {
		t.Errorf("image %+v", image)
	}
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.ImageId = made.ImageId })
	b.launchOne(t)
	if i := b.Instances()[0]; i.ImageID != *made.ImageId || i.ImageName != "mine (1)" {
		t.Errorf("launched from %s %s", i.ImageID, i.ImageName)
	}
}

func TestTagsAreCopiedWithAnImageOfTheAccountsOwnAlone(t *testing.T) {
	b := newBench(t)
	first, err := b.sdk.CopyImage(t.Context(), &sdk.CopyImageInput{SourceImageId: aws.String(imageFor("x86_64")), SourceRegion: aws.String("us-west-2"), Name: aws.String("first"),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeImage, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}}})
	if err != nil {
		t.Fatal(err)
	}
	in := copyOf(*first.ImageId, "second")
	in.CopyImageTags = aws.Bool(true)
	second, err := b.sdk.CopyImage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	third, err := b.sdk.CopyImage(t.Context(), copyOf(*first.ImageId, "third"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{ImageIds: []string{*second.ImageId, *third.ImageId}, Filters: []types.Filter{by("tag:a", "1")}})
	if err != nil || len(out.Images) != 1 || *out.Images[0].ImageId != *second.ImageId {
		t.Errorf("with tags: %+v %v, want %s alone", out, err, *second.ImageId)
	}
}

func TestCopiesAreRefused(t *testing.T) {
	b := newBench(t)
	source := imageFor("x86_64")
	for name, tt := range map[string]struct {
		change func(*sdk.CopyImageInput)
		code   string
	}{
		"no such image":  {func(in *sdk.CopyImageInput) { in.SourceImageId = aws.String("ami-00000000000000000") }, "InvalidAMIID.NotFound"},
		"no id":          {func(in *sdk.CopyImageInput) { in.SourceImageId = aws.String("image") }, "InvalidAMIID.Malformed"},
		"a short name":   {func(in *sdk.CopyImageInput) { in.Name = aws.String("ab") }, "InvalidAMIName.Malformed"},
		"a wrong name":   {func(in *sdk.CopyImageInput) { in.Name = aws.String("a*b") }, "InvalidAMIName.Malformed"},
		"another region": {func(in *sdk.CopyImageInput) { in.SourceRegion = aws.String("eu-west-1") }, "UnsupportedOperation"},
		"a key":          {func(in *sdk.CopyImageInput) { in.KmsKeyId = aws.String("alias/k") }, "UnknownParameter"},
		"tags of a volume": {func(in *sdk.CopyImageInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "volume"}}
		}, "InvalidParameterValue"},
	} {
		in := copyOf(source, "a copy")
		tt.change(in)
		_, err := b.sdk.CopyImage(t.Context(), in)
		wantCode(t, name, err, tt.code)
	}
}

func TestTheOwnerOfAnImageDeprecatesIt(t *testing.T) {
	b := newBench(t)
	source := imageFor("x86_64")
	made, err := b.sdk.CopyImage(t.Context(), copyOf(source, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	deprecate := func(id string, at time.Time) error {
		out, err := b.sdk.EnableImageDeprecation(t.Context(), &sdk.EnableImageDeprecationInput{ImageId: &id, DeprecateAt: &at})
		if err == nil && !*out.Return {
			t.Errorf("%s at %v: false", id, at)
		}
		return err
	}
	for range 2 { // it may be repeated
		if err := deprecate(*made.ImageId, start.Add(20*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{ImageIds: []string{*made.ImageId}})
	if err != nil || *out.Images[0].DeprecationTime != "2026-01-01T00:00:00.000Z" {
		t.Errorf("%+v %v", out, err)
	}
	if err := deprecate(*made.ImageId, start.Add(31*time.Second)); err != nil {
		t.Fatal(err)
	}
	if out, err = b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{ImageIds: []string{*made.ImageId}}); err != nil || *out.Images[0].DeprecationTime != "2026-01-01T00:01:00.000Z" {
		t.Errorf("%+v %v", out, err)
	}
	copied, err := b.sdk.CopyImage(t.Context(), copyOf(*made.ImageId, "again"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err = b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{ImageIds: []string{*copied.ImageId}}); err != nil || out.Images[0].DeprecationTime != nil {
		t.Errorf("a copy of it: %+v %v, want one that is not deprecated", out, err)
	}
	wantCode(t, "a date in the past", deprecate(*made.ImageId, start.Add(-time.Hour)), "InvalidParameterValue")
	wantCode(t, "a date after 11 years", deprecate(*made.ImageId, start.AddDate(11, 0, 0)), "InvalidParameterValue")
	wantCode(t, "another's image", deprecate(source, start.Add(time.Hour)), "AuthFailure")
	wantCode(t, "no image", deprecate("ami-00000000000000000", start), "InvalidAMIID.NotFound")
}
