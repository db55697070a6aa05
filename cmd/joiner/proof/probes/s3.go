package probes

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

var bucketRights = []string{"s3:CreateBucket", "s3:TagResource", "s3:PutBucketTagging", "s3:PutObject", "s3:GetObject", "s3:ListBucket"}

const bucketCost = 0.0005

// object is a probe about S3 with one reading.
func object(id, assumption, about string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
	return proof.Probe{
		ID: id, Service: "s3", Assumption: assumption, About: about, Kind: proof.KindSmall, Cost: bucketCost, Lasts: 2 * time.Second,
		Rights: bucketRights, Readings: one(assumption, want), Run: run,
	}
}

func objects() []proof.Probe {
	race := object("s3-conditional-conflict", "whether conditional writes at once conflict", "sixteen PutObject with If-None-Match: * of one key at once", nil, createRace)
	race.Readings = []proof.Reading{
		{Name: "conflict", Says: "some get 409 ConditionalRequestConflict, which is to be tried again", Want: proof.Seen{"won": "1", "conflicts": "some"}},
		{Name: "none", Says: "all that lose get 412 PreconditionFailed", Want: proof.Seen{"won": "1", "conflicts": "none"}},
	}
	lifecycle := object("s3-lifecycle-midnight", "an object expires at the midnight (UTC) after its age in days", "a lifecycle of one day, PutObject, its x-amz-expiration",
		proof.Seen{"rule": "proof", "at": "00:00:00", "days": "2"}, expiry)
	lifecycle.Rights = append([]string{"s3:PutLifecycleConfiguration"}, bucketRights...)
	region := object("s3-region-named", "a bucket outside us-east-1 is created with its region's name only", "CreateBucket without a region",
		proof.Seen{"create": "IllegalLocationConstraintException"}, regionNamed)
	region.Needs.NotFirstRegion = true
	hidden := object("s3-missing-hidden", "a caller without s3:ListBucket gets 403 instead of 404", "GetObject of nothing by sessions with and without s3:ListBucket",
		proof.Seen{"may list": "404 NoSuchKey", "may not": "403 AccessDenied"}, missingHidden)
	reads := object("s3-if-match-reads", "If-Match asks for s3:GetObject too", "PutObject with If-Match by a session without s3:GetObject",
		proof.Seen{"put": "403 AccessDenied"}, ifMatchReads)
	for _, p := range []*proof.Probe{&hidden, &reads} {
		p.Rights = append(append([]string{}, roleRights...), bucketRights...)
	}
	return []proof.Probe{
		object("s3-create-only", "If-None-Match: * creates only", "PutObject with If-None-Match: * twice", proof.Seen{"first": "ok", "second": "412 PreconditionFailed", "body": "one"}, createOnly),
		object("s3-replace-if-match", "If-Match replaces that version only", "PutObject with If-Match of the current and of an older version",
			proof.Seen{"current": "ok", "older": "412 PreconditionFailed"}, replaceIfMatch),
		object("s3-if-match-nothing", "If-Match of an object that is not there is 404", "PutObject with If-Match of a key that is not there", proof.Seen{"put": "404 NoSuchKey"}, ifMatchNothing),
		object("s3-read-after-write", "every read and list shows every write that was answered", "PutObject, GetObject and ListObjectsV2 ten times over",
			proof.Seen{"stale reads": "0", "stale lists": "0"}, readAfterWrite),
		object("s3-checksum-by-default", "without a checksum from the client S3 keeps a CRC64NVME of the whole object", "PutObject without a checksum, HeadObject",
			proof.Seen{"checksum": "CRC64NVME", "type": "FULL_OBJECT"}, defaultChecksum),
		object("s3-etag-changes", "an object's ETag is the same for the same bytes", "PutObject three times", proof.Seen{"same bytes": "same", "others": "another"}, etags),
		object("s3-list-pages", "a list is by key, and goes on after its token", "ListObjectsV2 of five keys by two", proof.Seen{"keys": "a b c d e", "pages": "3"}, listPages),
		race, lifecycle, region, hidden, reads,
	}
}

func put(ctx context.Context, c proof.Clients, bucket, key, body string, change func(*s3.PutObjectInput)) (*s3.PutObjectOutput, error) {
	in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte(body))}
	if change != nil {
		change(in)
	}
	return c.S3.PutObject(ctx, in)
}

// putCertain is put, tried again where S3 says that another write went on at the same time.
func putCertain(ctx context.Context, e *proof.Env, c proof.Clients, bucket, key, body string, change func(*s3.PutObjectInput)) error {
	for n := 0; ; n++ {
		_, err := put(ctx, c, bucket, key, body, change)
		if proof.Code(err) != "ConditionalRequestConflict" || n == 4 {
			return err
		}
		if err := e.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

func onlyNew(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }

func only(etag string) func(*s3.PutObjectInput) {
	return func(in *s3.PutObjectInput) { in.IfMatch = &etag }
}

func bodyOf(ctx context.Context, c proof.Clients, bucket, key string) (string, error) {
	out, err := c.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(out.Body)
	return text.String(), err
}

func createOnly(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	first := putCertain(ctx, e, e.Clients, bucket, "create-only", "one", onlyNew)
	second := putCertain(ctx, e, e.Clients, bucket, "create-only", "two", onlyNew)
	body, err := bodyOf(ctx, e.Clients, bucket, "create-only")
	return proof.Seen{"first": status(first), "second": status(second), "body": body}, proof.Answered(first, second, err)
}

func replaceIfMatch(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	old, err := put(ctx, e.Clients, bucket, "if-match", "one", nil)
	if err != nil {
		return nil, err
	}
	current := putCertain(ctx, e, e.Clients, bucket, "if-match", "two", only(aws.ToString(old.ETag)))
	older := putCertain(ctx, e, e.Clients, bucket, "if-match", "three", only(aws.ToString(old.ETag)))
	return proof.Seen{"current": status(current), "older": status(older)}, proof.Answered(current, older)
}

func ifMatchNothing(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	err = putCertain(ctx, e, e.Clients, bucket, "not-there", "one", only(`"d41d8cd98f00b204e9800998ecf8427e"`))
	return proof.Seen{"put": status(err)}, proof.Answered(err)
}

func readAfterWrite(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	reads, lists := 0, 0
	for i := range 10 {
		if _, err := put(ctx, e.Clients, bucket, "fresh", count(i), nil); err != nil {
			return nil, err
		}
		body, err := bodyOf(ctx, e.Clients, bucket, "fresh")
		if err != nil || body != count(i) {
			reads++
		}
		key := "fresh/" + count(i)
		if _, err := put(ctx, e.Clients, bucket, key, "", nil); err != nil {
			return nil, err
		}
		page, err := e.S3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("fresh/")})
		if err != nil || len(page.Contents) != i+1 {
			lists++
		}
	}
	return proof.Seen{"stale reads": count(reads), "stale lists": count(lists)}, nil
}

func defaultChecksum(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	plain := e.With(func(c *aws.Config) { c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired })
	if _, err := put(ctx, plain, bucket, "checksum", "one", nil); err != nil {
		return nil, err
	}
	head, err := e.S3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: aws.String("checksum"), ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{"checksum": "none", "type": string(head.ChecksumType)}
	switch {
	case head.ChecksumCRC64NVME != nil:
		seen["checksum"] = "CRC64NVME"
	case head.ChecksumCRC32 != nil:
		seen["checksum"] = "CRC32"
	}
	return seen, nil
}

func etags(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, body := range []string{"one", "one", "two"} {
		out, err := put(ctx, e.Clients, bucket, "etag", body, nil)
		if err != nil {
			return nil, err
		}
		tags = append(tags, aws.ToString(out.ETag))
	}
	same := map[bool]string{true: "same", false: "another"}
	return proof.Seen{"same bytes": same[tags[0] == tags[1]], "others": same[tags[1] == tags[2]]}, nil
}

func listPages(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"c", "a", "e", "b", "d"} {
		if _, err := put(ctx, e.Clients, bucket, "pages/"+key, "", nil); err != nil {
			return nil, err
		}
	}
	var keys []string
	pages := s3.NewListObjectsV2Paginator(e.S3, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("pages/"), MaxKeys: aws.Int32(2)})
	n := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		n++
		for _, o := range page.Contents {
			keys = append(keys, strings.TrimPrefix(aws.ToString(o.Key), "pages/"))
		}
	}
	return proof.Seen{"keys": strings.Join(keys, " "), "pages": count(n)}, nil
}

func createRace(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	// An answer to try again would blur what is seen.
	once := e.With(func(c *aws.Config) { c.RetryMaxAttempts = 1 })
	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = put(ctx, once, bucket, "race", count(i), onlyNew) })
	}
	all.Wait()
	won, words := 0, []string{}
	seen := proof.Seen{"conflicts": "none"}
	for _, err := range errs {
		switch status(err) {
		case "ok":
			won++
		case "409 ConditionalRequestConflict":
			seen["conflicts"] = "some"
		}
		words = append(words, status(err))
	}
	seen["won"], seen["answers"] = count(won), countWords(words)
	return seen, proof.Answered(errs...)
}

func expiry(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	if _, err := e.S3.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: aws.String("proof"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("expires/")}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
		}}},
	}); err != nil {
		return nil, err
	}
	var text string
	// A lifecycle takes S3 a while to heed.
	if _, _, err := e.Until(ctx, time.Minute, 5*time.Second, func() (bool, error) {
		out, err := put(ctx, e.Clients, bucket, "expires/one", "one", nil)
		if err != nil {
			return false, err
		}
		text = aws.ToString(out.Expiration)
		return text != "", nil
	}); err != nil {
		return nil, err
	}
	date, rest, _ := strings.Cut(strings.TrimPrefix(text, `expiry-date="`), `"`)
	_, rule, _ := strings.Cut(rest, `rule-id="`)
	at, err := time.Parse(time.RFC1123, date)
	if err != nil {
		return nil, errorf("x-amz-expiration is %q: %w", text, err)
	}
	today := e.Now().UTC().Truncate(24 * time.Hour)
	return proof.Seen{"rule": strings.TrimSuffix(rule, `"`), "at": at.UTC().Format(time.TimeOnly), "days": count(int(at.UTC().Truncate(24*time.Hour).Sub(today) / (24 * time.Hour)))}, nil
}

func regionNamed(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.S3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(e.Name("bucket"))})
	return proof.Seen{"create": proof.Code(err)}, proof.Answered(err)
}

func missingHidden(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	who := map[string][]string{"may list": {"s3:GetObject", "s3:ListBucket"}, "may not": {"s3:GetObject"}}
	for _, fact := range sorted(who) {
		c, err := proof.Session(ctx, e, proof.Statement{Effect: "Allow", Action: who[fact], Resource: []string{"*"}})
		if err != nil {
			return nil, err
		}
		_, err = c.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("nothing")})
		if err := proof.Answered(err); err != nil {
			return nil, err
		}
		seen[fact] = status(err)
	}
	return seen, nil
}

func ifMatchReads(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	bucket, err := proof.Bucket(ctx, e)
	if err != nil {
		return nil, err
	}
	old, err := put(ctx, e.Clients, bucket, "if-match-reads", "one", nil)
	if err != nil {
		return nil, err
	}
	c, err := proof.Session(ctx, e, proof.Statement{Effect: "Allow", Action: []string{"s3:PutObject"}, Resource: []string{"*"}})
	if err != nil {
		return nil, err
	}
	err = putCertain(ctx, e, c, bucket, "if-match-reads", "two", only(aws.ToString(old.ETag)))
	return proof.Seen{"put": status(err)}, proof.Answered(err)
}
