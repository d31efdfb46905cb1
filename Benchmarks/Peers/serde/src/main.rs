//! `serde_json decode|encode FILE COUNT` prints the nanoseconds of processor time for reading or writing once.

use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Timeline {
    user_details: User,
    moments: Vec<Moment>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct User {
    id: String,
    name: String,
    avatar: String,
    background_image: String,
}

#[derive(Deserialize, Serialize)]
struct Author {
    name: String,
    avatar: String,
}

#[derive(Deserialize, Serialize)]
struct Liker {
    id: String,
    avatar: String,
}

#[derive(Deserialize, Serialize)]
enum Kind {
    #[serde(rename = "URL")]
    Url,
    #[serde(rename = "PHOTOS")]
    Photos,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Moment {
    id: String,
    user_details: Author,
    r#type: Kind,
    title: Option<String>,
    url: Option<String>,
    photos: Vec<String>,
    created_date: String,
    is_liked: Option<bool>,
    likes: Option<Vec<Liker>>,
}

fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: usize = arguments[3].parse().unwrap();
    let text = std::fs::read(&arguments[2]).unwrap();
    let timeline: Timeline = json::from_slice(&text).unwrap();
    let start = processor_time();
    let mut sum = 0;
    for _ in 0..count {
        sum += match arguments[1].as_str() {
            "decode" => json::from_slice::<Timeline>(std::hint::black_box(&text)).unwrap().moments.len(),
            _ => json::to_vec(std::hint::black_box(&timeline)).unwrap().len(),
        };
    }
    let time = processor_time() - start;
    assert!(sum > 0);
    println!("{}", time / count as f64);
}
