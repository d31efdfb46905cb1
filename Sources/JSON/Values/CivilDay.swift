/// A day of the Gregorian calendar, extended to the years before its introduction, as in ISO 8601.
struct CivilDay {
  let year: Int
  let month: Int
  let day: Int

  // 400 years always have this many days. They begin on 1 March, so that a leap day is the last day of its year.
  private static let daysOfEra = 146_097
  private static let epoch = 719_468

  init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  init(sinceEpoch days: Int) {
    let (era, dayOfEra) = (days + Self.epoch).quotientAndRemainderRoundingDown(dividingBy: Self.daysOfEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    year = era * 400 + yearOfEra + (month > 2 ? 0 : 1)
  }

  /// Days since 1 January 1970.
  var sinceEpoch: Int {
    let (era, yearOfEra) = (month > 2 ? year : year - 1).quotientAndRemainderRoundingDown(dividingBy: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * Self.daysOfEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.epoch
  }

  var daysInMonth: Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int {
  func quotientAndRemainderRoundingDown(dividingBy divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
